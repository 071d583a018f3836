from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from narrator.redact import Redactor
from narrator.sanitize import plain

SHARED = Path(__file__).resolve().parents[1].parent / "shared"

A36 = "0123456789abcdefghijABCDEFGHIJ012345"
A48 = A36 + "klmnopqrstuv"
HEX = "0123456789abcdef"
MARK = re.compile(r"«secret:([a-z-]+):([1-9][0-9]{0,3})»")


def join(*pieces: str) -> str:
    """A token in pieces, so that no scanner takes this file for a leak."""
    return "".join(pieces)


def key_block(kind: str, *lines: str) -> str:
    return "\n".join([join("-----BEGIN ", kind, "-----"), *lines, join("-----END ", kind, "-----")])


JWT = join("ey", "JhbGciOiJub25lIn0.eyJzdWIiOiJmYWtlIn0.c2lnbmF0dXJlLWZha2U")
PEM = key_block("OPENSSH PRIVATE KEY", "b3BlbnNzaC1rZXktdjEA" * 3, "AAAAB3NzaC1yc2E=")
BODY = PEM.rpartition("\n")[0]


@pytest.mark.parametrize(
    ("kind", "secret"),
    [
        pytest.param("github-token", join("gh", "p_", A36), id="GitHub personal access token"),
        pytest.param("github-token", join("gh", "s_", A36 * 3), id="GitHub installation token, long"),
        pytest.param(
            "github-token", join("github", "_pat_", A36[:22], "_", A36, A36[:23]), id="GitHub fine-grained token"
        ),
        pytest.param("hf-token", join("h", "f_", "abcdefghijklmnopqrstuvwxyzABCDEFGH"), id="Hugging Face"),
        pytest.param("anthropic-key", join("s", "k-ant-api03-", A36, "-_", A36), id="Anthropic"),
        pytest.param("openrouter-key", join("s", "k-or-v1-", HEX * 4), id="OpenRouter"),
        pytest.param("openai-key", join("s", "k-proj-", A48, "_-", A48), id="OpenAI project key"),
        pytest.param("openai-key", join("s", "k-svcacct-", A48), id="OpenAI service account"),
        pytest.param("openai-key", join("s", "k-", A48), id="OpenAI key of old"),
        pytest.param("aws-access-key", join("AK", "IAIOSFODNN7FAKE000"), id="AWS access key"),
        pytest.param("aws-access-key", join("AS", "IAIOSFODNN7FAKE000"), id="AWS temporary access key"),
        pytest.param("google-api-key", join("AI", "za", A36[:35]), id="Google API key"),
        pytest.param("google-oauth", join("ya", "29.", A36), id="Google access token"),
        pytest.param("google-oauth", join("GOC", "SPX-", A36[:28]), id="Google client secret"),
        pytest.param("gitlab-token", join("gl", "pat-", A36[:20]), id="GitLab"),
        pytest.param("gitlab-token", join("gl", "pat-", A36[:27], ".01.0a1b2c3d4"), id="GitLab routable token"),
        pytest.param("slack-token", join("xo", "xb-111111111111-fakefakefake"), id="Slack bot token"),
        pytest.param("slack-token", join("xa", "pp-1-A0B1-123-", HEX), id="Slack app token"),
        pytest.param("stripe-key", join("sk", "_live_", A36[:24]), id="Stripe secret key"),
        pytest.param("stripe-key", join("rk", "_test_", A36[:24]), id="Stripe restricted key"),
        pytest.param("stripe-key", join("wh", "sec_", A36[:32]), id="Stripe webhook secret"),
        pytest.param("sendgrid-key", join("S", "G.", A36[:22], ".", A48[:43]), id="SendGrid"),
        pytest.param("twilio-key", join("S", "K", HEX * 2), id="Twilio"),
        pytest.param("npm-token", join("np", "m_", A36), id="npm"),
        pytest.param("pypi-token", join("py", "pi-AgEIcHlwaS5vcmc", A36), id="PyPI"),
        pytest.param("docker-token", join("dc", "kr_pat_", A36[:27]), id="Docker"),
        pytest.param("digitalocean-token", join("do", "p_v1_", HEX * 4), id="DigitalOcean"),
        pytest.param("databricks-token", join("da", "pi", HEX * 2), id="Databricks"),
        pytest.param("groq-key", join("gs", "k_", A48, "wxyz"), id="Groq"),
        pytest.param("xai-key", join("xa", "i-", A48, A36[:32]), id="xAI"),
        pytest.param("replicate-token", join("r", "8_", A48[:37]), id="Replicate"),
        pytest.param("perplexity-key", join("pp", "lx-", A48), id="Perplexity"),
        pytest.param("tavily-key", join("tv", "ly-dev-", A36[:32]), id="Tavily"),
        pytest.param("nvidia-key", join("nv", "api-", A48, A36[:16]), id="NVIDIA"),
        pytest.param("notion-token", join("nt", "n_", "12345678901", A36[:35]), id="Notion"),
        pytest.param("notion-token", join("sec", "ret_", A48[:43]), id="Notion token of old"),
        pytest.param("linear-key", join("li", "n_api_", A48[:40]), id="Linear"),
        pytest.param("figma-token", join("fi", "gd_", A48[:40]), id="Figma"),
        pytest.param("sentry-token", join("sn", "trys_", A48, "="), id="Sentry organisation token"),
        pytest.param("sentry-token", join("sn", "tryu_", HEX * 4), id="Sentry user token"),
        pytest.param("vercel-token", join("vc", "p_", A48, "12345678"), id="Vercel"),
        pytest.param("vault-token", join("hv", "s.", A48, A48), id="Vault"),
        pytest.param("jwt", JWT, id="JSON web token"),
        pytest.param("telegram-token", join("123456789", ":AA", A36[:33]), id="Telegram bot"),
        pytest.param("discord-token", join("M", "TIzNDU2Nzg5MDEyMzQ1Njc4", ".GaBcDe.", A36), id="Discord bot"),
        pytest.param("private-key", PEM, id="private key"),
        pytest.param(
            "private-key", key_block("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED", "", A48), id="key with headers"
        ),
        pytest.param("private-key", key_block("PGP PRIVATE KEY BLOCK", "", A48, "=aB3d"), id="PGP key"),
        pytest.param("private-key", PEM.replace("\n", "\\n"), id="key in a JSON string"),
        pytest.param("private-key", PEM.replace("\n", "\n00042| "), id="key in a listing with line numbers"),
    ],
)
def test_a_key_of_a_published_shape_is_masked_whole(kind: str, secret: str) -> None:
    for before, after in (("", ""), ("use ", " now"), ('"', '",'), ("a\n", "\nb"), ("x: `", "`."), ("line\\n", "\\n")):
        masked = Redactor("s").mask(before + secret + after)
        found = MARK.search(masked)
        assert found, masked
        assert masked == before + found[0] + after
        assert found[1] == kind


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("commit da39a3ee5e6b4b0d3255bfef95601890afd80709", id="git hash"),
        pytest.param("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", id="SHA-256"),
        pytest.param("id 123e4567-e89b-42d3-a456-426614174000", id="UUID"),
        pytest.param("msg_9c0000000000Qw3rTy5uIoPa7s prt_1 ses_4f1c0a7e2ffeA1b2C3d4E5f6G7", id="opencode ids"),
        pytest.param("toolu_01A2B3C4D5E6F7G8H9J0 call_abcDEF123456789012345678", id="ids of tool calls"),
        pytest.param('"signature": "c2lnbmF0dXJlLWZha2UabcdEFGH1234567890+/=="', id="signature of a thought"),
        pytest.param("version 1.2.3-rc1+build20240131", id="version"),
        pytest.param("hf_hub_download hf_model_name_with_many_words_in_it_v2", id="names like a Hugging Face token"),
        pytest.param("sk-toggleable__content sk-estimator-doc-link sk-container-id-1", id="CSS of scikit-learn"),
        pytest.param("task-ABCDEFGHIJKLMNOPQRSTUVWXYZ012345", id="word that ends in sk"),
        pytest.param("sk-abcdefghijklmnopqrstuvwxyz", id="small letters only"),
        pytest.param("pplx-7b-online-chat gsk_short xai-grok npm_config_registry", id="names with a key's prefix"),
        pytest.param("vcr_cassette_library_dir_name_and_some_more_words", id="identifier like a Vercel token"),
        pytest.param("AKIAshort ASIAPACIFICREGION", id="words like an AWS key"),
        pytest.param("AGPAIOSFODNN7FAKE000", id="other AWS id"),
        pytest.param("eyJhbGciOiJub25lIn0 and eyJ.eyJ.eyJ", id="parts of a JWT"),
        pytest.param("base64 " + "TWFuIGlzIGRpc3Rpbmd1aXNoZWQsIG5vdCBvbmx5" * 5, id="base64"),
        pytest.param(key_block("CERTIFICATE", A48), id="certificate"),
        pytest.param(key_block("PUBLIC KEY", A48), id="public key"),
        pytest.param(join("-----BEGIN ", "PRIVATE KEY----- is its first line"), id="prose about a private key"),
        pytest.param("12:34:AA and 123456789:ABCdef", id="times and pairs"),
        pytest.param("https://api.slack.com/services/123 and /api/webhooks/12/short", id="addresses without a token"),
    ],
)
def test_what_only_resembles_a_key_stays(text: str) -> None:
    assert Redactor("s").mask(text) is text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        pytest.param(BODY[:-25], "*", id="inside of a line"),
        pytest.param(BODY[:-6], "*", id="inside of a short last line"),
        pytest.param(BODY[:-25] + " now", "* now", id="words on the same line"),
        pytest.param(BODY + "\n" + "[output truncated]\n", "*\n[output truncated]\n", id="a note of the harness"),
        pytest.param(BODY + "\n" + "$ ls\nid_rsa\n", "*\n$ ls\nid_rsa\n", id="the next command"),
    ],
)
def test_a_cut_off_private_key_ends_with_its_body(text: str, masked: str) -> None:
    assert MARK.sub("*", Redactor("s").mask(text)) == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        pytest.param("https://u:p4ss-not-real@h.invalid/x", "https://u:*@h.invalid/x", id="user and password"),
        pytest.param("redis://:pass1@h:6379/0", "redis://:*@h:6379/0", id="no user"),
        pytest.param(
            "postgresql+asyncpg://app:p%40ss!@db/x?y=a@b", "postgresql+asyncpg://app:*@db/x?y=a@b", id="encoded"
        ),
        pytest.param("http://localhost:8080/@scope/pkg", "http://localhost:8080/@scope/pkg", id="a port"),
        pytest.param(
            "postgres://user:password@localhost", "postgres://user:password@localhost", id="words of a manual"
        ),
        pytest.param(
            "postgres://${U}:${P}@h https://a:<pass>@h", "postgres://${U}:${P}@h https://a:<pass>@h", id="variables"
        ),
        pytest.param(
            "ssh://git@github.com:22/a git@github.com:a/b", "ssh://git@github.com:22/a git@github.com:a/b", id="git"
        ),
    ],
)
def test_of_a_url_only_the_password_is_masked(text: str, masked: str) -> None:
    assert MARK.sub("*", Redactor("s").mask(text)) == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        pytest.param("Authorization: Bearer mF_9.B5f-4.1JqM", "Authorization: Bearer *", id="bearer"),
        pytest.param('-H "authorization: Basic dXNlcjpwYXNz"', '-H "authorization: Basic *"', id="basic"),
        pytest.param('{"Authorization": "token abcdef1234"}', '{"Authorization": "token *"}', id="JSON"),
        pytest.param("authorization=abc123def456ghi", "authorization=*", id="no scheme, looks random"),
        pytest.param("sent bearer abcdef123456==.", "sent bearer *.", id="bearer alone"),
        pytest.param("Authorization: Bearer $TOKEN", "Authorization: Bearer $TOKEN", id="variable"),
        pytest.param("Authorization: Bearer <token>", "Authorization: Bearer <token>", id="placeholder"),
        pytest.param("Authorization: Bearer YOUR_API_TOKEN", "Authorization: Bearer YOUR_API_TOKEN", id="your token"),
        pytest.param("Authorization: Bearer ACCESS_TOKEN", "Authorization: Bearer ACCESS_TOKEN", id="capitals"),
        pytest.param(
            'headers={"Authorization": f"Bearer {key}"}', 'headers={"Authorization": f"Bearer {key}"}', id="f-string"
        ),
        pytest.param("a bearer authentication scheme", "a bearer authentication scheme", id="prose"),
        pytest.param("authorization: required-always", "authorization: required-always", id="no scheme, words"),
    ],
)
def test_authorization_headers(text: str, masked: str) -> None:
    assert MARK.sub("*", Redactor("s").mask(text)) == masked


@pytest.mark.parametrize(
    ("text", "kind", "secret"),
    [
        pytest.param("password=hunter2-not-real", "password", "hunter2-not-real", id="password="),
        pytest.param("PASSWORD: hunter2", "password", "hunter2", id="PASSWORD:"),
        pytest.param("passwd = 'letmein'", "password", "letmein", id="quoted in code"),
        pytest.param("pwd=hunter2", "password", "hunter2", id="pwd"),
        pytest.param('{"password": "letmein"}', "password", "letmein", id="JSON"),
        pytest.param('{\\"password\\": \\"letmein\\"}', "password", "letmein", id="JSON in a string"),
        pytest.param('{"password": "a\\"b\\\\c1"}', "password", 'a\\"b\\\\c1', id="JSON with escapes"),
        pytest.param("{'password': '!Qaz2wsx'}", "password", "!Qaz2wsx", id="Python dictionary"),
        pytest.param("'password' => 's3cr3t'", "password", "s3cr3t", id="arrow"),
        pytest.param('config["password"] = "hunter2"', "password", "hunter2", id="item"),
        pytest.param('password: str = "hunter2"', "password", "hunter2", id="annotated"),
        pytest.param("db:\n  password: letmein\n", "password", "letmein", id="YAML, letters only"),
        pytest.param("- password: letmein", "password", "letmein", id="YAML list"),
        pytest.param("Password: Tr0ub4dor&3", "password", "Tr0ub4dor&3", id="ampersand inside"),
        pytest.param("DB_PASSWORD=letmein", "password", "letmein", id="environment"),
        pytest.param("DB_PASS=letmein", "password", "letmein", id="environment, PASS"),
        pytest.param("export PGPASSWORD='my pw'", "password", "my pw", id="environment, a space inside"),
        pytest.param("mysql --password letmein db", "password", "letmein", id="option"),
        pytest.param("mysql --db-password=s3cr3t db", "password", "s3cr3t", id="option with ="),
        pytest.param("host=db user=app password=letmein", "password", "letmein", id="connection string"),
        pytest.param("/login?user=a&password=letmein&x=1", "password", "letmein", id="query"),
        pytest.param("password1=hunter2", "password", "hunter2", id="numbered"),
        pytest.param("password=x" + "y1" * 200, "password", "x" + "y1" * 200, id="longer than a name is judged by"),
        pytest.param("API_KEY=abcdef123456", "credential", "abcdef123456", id="API key in an environment"),
        pytest.param('api_key: Optional[str] = "abcdef123456"', "credential", "abcdef123456", id="API key in code"),
        pytest.param("X-Api-Key: a1b2c3d4e5f6", "credential", "a1b2c3d4e5f6", id="API key in a header"),
        pytest.param(
            '"client_secret":"8dyfuiRyq_vVc3RRr_edRk"', "credential", "8dyfuiRyq_vVc3RRr_edRk", id="client secret"
        ),
        pytest.param(
            "JWT_SECRET=supersecretvalue", "credential", "supersecretvalue", id="letters only in an environment"
        ),
        pytest.param('API_SECRET="supersecretvalue"', "credential", "supersecretvalue", id="the same, quoted"),
        pytest.param(
            "token: a8f5f167f44f4964e6c998dee827110c", "credential", "a8f5f167f44f4964e6c998dee827110c", id="hex token"
        ),
        pytest.param(
            "/x?access_token=2YotnFZFEjr1zCsicMWpAA", "credential", "2YotnFZFEjr1zCsicMWpAA", id="token in a query"
        ),
        pytest.param("gh --token abc123def456 x", "credential", "abc123def456", id="token as an option"),
        pytest.param(
            "HEROKU_API_KEY=123e4567-e89b-42d3-a456-426614174000",
            "credential",
            "123e4567-e89b-42d3-a456-426614174000",
            id="UUID as an API key",
        ),
        pytest.param(
            "STRIPE_KEY=aB3dE5fG7hI9jK1lM3", "credential", "aB3dE5fG7hI9jK1lM3", id="other key in an environment"
        ),
        pytest.param(
            "ENCRYPTION_KEY=c2VjcmV0LWtleS1iYXNlNjQ=", "credential", "c2VjcmV0LWtleS1iYXNlNjQ=", id="base64 with its ="
        ),
        pytest.param(
            "aws_secret_access_key = wJalrFAKEFAKE/K7MDENG/bPxRfiCYFAKEFAKE00",
            "aws-secret",
            "wJalrFAKEFAKE/K7MDENG/bPxRfiCYFAKEFAKE00",
            id="AWS secret",
        ),
        pytest.param('"SecretAccessKey": "abc1DEF2ghi3"', "aws-secret", "abc1DEF2ghi3", id="AWS secret, short"),
        pytest.param(join("AccountKey=", A48, A36, "/+=="), "azure-key", A48 + A36 + "/+==", id="Azure storage"),
        pytest.param(join("&s", "ig=", A36, "%2F1234%3D"), "azure-sas", A36 + "%2F1234%3D", id="Azure SAS"),
        pytest.param(
            join("https://hooks.slack", ".com/services/T0/B0/", A36),
            "slack-webhook",
            f"T0/B0/{A36}",
            id="Slack webhook",
        ),
        pytest.param(join("/api/web", "hooks/1234567890123/", A48), "discord-webhook", A48, id="Discord webhook"),
    ],
)
def test_of_a_named_secret_only_the_value_is_masked(text: str, kind: str, secret: str) -> None:
    masked = Redactor("s").mask(text)
    found = MARK.search(masked)
    assert found, masked
    assert masked == text.replace(secret, found[0])
    assert found[1] == kind


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("password: str", id="type"),
        pytest.param("password: Optional[str] = None", id="type and default"),
        pytest.param("f(user=user, password=pw, x=1)", id="argument"),
        pytest.param("password=password", id="its own name"),
        pytest.param("password=self.password", id="attribute"),
        pytest.param('password = os.environ["DB_PASSWORD"]', id="environment"),
        pytest.param('password = os.getenv("DB_PASSWORD")', id="call"),
        pytest.param("password = letmein", id="letters that may be a variable"),
        pytest.param('password="<your password>"', id="angle brackets"),
        pytest.param('password="${DB_PASSWORD}" password=$DB_PASSWORD password: "$(cat pw1)"', id="shell"),
        pytest.param(
            "password: '{{ pw1 }}' password='%s' password=\"{password}\" password: '%DB_PW1%'", id="templates"
        ),
        pytest.param("mysql --password $PW --password string --password -x", id="option with no literal"),
        pytest.param("with --password and --user", id="option in prose"),
        pytest.param('password="***" password=xxxxxx password: "" password=""', id="hidden already"),
        pytest.param("password: changeme password='change-me'", id="changeme"),
        pytest.param('"password": "Enter your password 1"', id="phrase"),
        pytest.param("password: The password of the user", id="docstring"),
        pytest.param("user password: Required\n", id="label"),
        pytest.param("cat /etc/passwd:root:x:0:0:root:/root:/bin/sh", id="/etc/passwd"),
        pytest.param("OLDPWD=/root/x1 pwd: foo/bar1", id="working folder"),
        pytest.param("PASS: test_one2 passed=12345 compass=north12 bypass: abc123", id="words with pass"),
        pytest.param("password_hash=abc123def password_file: a1b2c3d4", id="longer names"),
        pytest.param("max_tokens=4096 num_tokens: 12 token_count=123456789", id="counts of tokens"),
        pytest.param("per token: 12.5tok/s token: 123456789", id="measurements of tokens"),
        pytest.param("token=token token = get_token() token: str token=tokens[0]", id="code with tokens"),
        pytest.param('if token == "abc123def456":', id="comparison"),
        pytest.param('eos_token="<|im_end|>" pad_token=pad1234abcd', id="tokens of a tokenizer"),
        pytest.param('"token": "Ġ2023abc"', id="token of a vocabulary"),
        pytest.param('"next_page_token": "x" "next_token": "abc123def456ghi789"', id="tokens of pages"),
        pytest.param("token=msg_9c0000000000Qw3rTy5uIoPa7s", id="id"),
        pytest.param("token: 123e4567-e89b-42d3-a456-426614174000", id="UUID"),
        pytest.param("secret: my-app-secret-v2", id="name of a secret"),
        pytest.param('api_key="EMPTY" api_key="your-api-key-123" api_key=YOUR_KEY_123456', id="example keys"),
        pytest.param("api_key=settings.OPENAI_API_KEY1 api_key: ${{ secrets.KEY_1234 }}", id="references to keys"),
        pytest.param("CREDENTIALS=service-account-1.json", id="file of credentials"),
        pytest.param("CACHE_KEY=da39a3ee5e6b4b0d3255bfef95601890afd80709", id="hash as a key"),
        pytest.param("SORT_KEY=name_of_column_12 PUBLIC_KEY=aB3dE5fG7hI9jK1lM3nO5", id="keys that are not secret"),
        pytest.param('key="abcdef123456abcdef" sorted(x, key=lambda y: y)', id="key alone"),
        pytest.param("aws_secret_access_key = short", id="AWS secret that is none"),
        pytest.param("the secret : of it", id="prose"),
    ],
)
def test_a_value_that_is_no_secret_stays(text: str) -> None:
    assert Redactor("s").mask(text) is text


def test_the_same_secret_has_the_same_placeholder_in_every_instance_and_order() -> None:
    first, second = join("gh", "p_", A36), join("gh", "p_", A36[::-1])
    there, back = Redactor("ses_1"), Redactor("ses_1")
    one = MARK.findall(there.mask(f"{first} {second}"))
    two = MARK.findall(back.mask(second)) + MARK.findall(back.mask(f"again {first}"))
    assert one == two[::-1]
    assert one[0] != one[1]


def test_another_session_has_other_placeholders() -> None:
    text = " ".join(f"password=hunter{number}" for number in range(20))
    assert Redactor("ses_1").mask(text) != Redactor("ses_2").mask(text)


def test_the_number_does_not_depend_on_the_kind() -> None:
    numbers = {number for _, number in MARK.findall(Redactor("s").mask("password=abc123def456 token=abc123def456"))}
    assert len(numbers) == 1


@pytest.mark.parametrize("salt", ["", "x" * 1000, "\ud800"], ids=["empty", "long", "lone surrogate"])
def test_any_salt_serves(salt: str) -> None:
    assert MARK.fullmatch(Redactor(salt).mask(join("gh", "p_", A36)))


def test_different_secrets_are_counted_once_each_by_kind() -> None:
    redactor = Redactor("s")
    assert redactor.counts == {}
    for text in ("password=hunter2 password=hunter2", "password=hunter3", join("gh", "p_", A36), "nothing"):
        redactor.mask(text)
    assert redactor.counts == {"github-token": 1, "password": 2}


def test_switched_off_it_masks_and_counts_nothing() -> None:
    redactor = Redactor("s", off=True)
    text = join("password=hunter2 gh", "p_", A36)
    assert redactor.mask(text) is text
    assert redactor.counts == {}


def test_a_known_shape_wins_over_its_name_and_an_outer_secret_over_an_inner_one() -> None:
    token = join("gh", "p_", A36)
    assert MARK.findall(Redactor("s").mask(f"GITHUB_TOKEN={token}"))[0][0] == "github-token"
    assert MARK.findall(Redactor("s").mask(f"password='x.{token}'"))[0][0] == "password"


def test_two_secrets_that_overlap_leave_nothing_between_them() -> None:
    masked = Redactor("s").mask(join("x=AK", "IAIOSFODNN7FAKE000 password=1234", "5678:AA", A36[:33], "/Z1"))
    assert A36[:10] not in masked
    assert "/Z1" not in masked


def test_placeholders_are_left_alone() -> None:
    text = "password=«secret:password:12» and «secret:github-token:9999» token: «secret:jwt:1»"
    redactor = Redactor("s")
    assert redactor.mask(text) == text
    assert redactor.counts == {}


def test_masking_twice_is_masking_once() -> None:
    bits = [
        "password",
        "token",
        "secret",
        "api_key",
        "=",
        ": ",
        " ",
        '"',
        "'",
        "\\",
        "hunter2",
        join("gh", "p_", A36),
        "https://u:",
    ]
    bits += [
        "p4ss",
        "@h",
        "Authorization: Bearer ",
        "abc123def456",
        "\n",
        "«",
        "»",
        "«secret:password:12»",
        JWT,
        "\\n",
        ",",
        "&",
    ]
    bits += [
        join("-----BEGIN RSA ", "PRIVATE KEY-----"),
        A48,
        "DB_",
        "PASSWORD=",
        "/",
        join("AK", "IAIOSFODNN7FAKE000"),
        "--",
        "$",
    ]
    dice = random.Random(3)
    for _ in range(5000):
        once = Redactor("s").mask("".join(dice.choices(bits, k=dice.randint(1, 12))))
        assert Redactor("s").mask(once) == once


def test_letters_that_grow_when_lowered_do_not_move_the_mask() -> None:
    assert MARK.sub("*", Redactor("s").mask("İİ PASSWORD=hunter2 İ")) == "İİ PASSWORD=* İ"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        pytest.param("x" * 1_000_000, None, id="one word"),
        pytest.param("a=" * 500_000, None, id="assignments of nothing"),
        pytest.param("QUJDabc1" * 125_000, None, id="base64"),
        pytest.param("eyJ." * 250_000, None, id="beginnings of a JWT"),
        pytest.param("-----BEGIN " * 90_000, None, id="beginnings of a key"),
        pytest.param("token:" * 100_000, None, id="names"),
        pytest.param("password=" + "x1" * 500_000, "password=*", id="a secret of a megabyte"),
        pytest.param("token:abc1def2" * 70_000, "token:*", id="secrets without a gap"),
        pytest.param("eyJ_-" * 200_000, None, id="beginnings of a JWT without a gap"),
        pytest.param("vcp_" * 250_000, None, id="prefixes without a gap"),
    ],
)
def test_a_megabyte_of_the_worst_ends(text: str, masked: str | None) -> None:
    assert MARK.sub("*", Redactor("s").mask(text)) == (text if masked is None else masked)


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    return (
        [value]
        if isinstance(value, str)
        else [text for item in value for text in strings(item)]
        if isinstance(value, list)
        else []
    )


def test_the_shared_case_of_planted_secrets() -> None:
    path = SHARED / "cases" / "50-secrets.json"
    if not path.is_file():
        pytest.skip("the shared cases are not beside this checkout")
    redactor = Redactor("ses_4f1c0a7e2ffeA1b2C3d4E5f6G7")
    shown = "\n".join(redactor.mask(plain(text)) for text in strings(json.loads(path.read_text(encoding="utf-8"))))
    assert not re.search(
        "hunter2|ABCDEFGHIJ012345|FAKE000|p4ss-not-real|s3cret-not-real|fakefake|ZmFrZWZh|00001111", shown
    )
    assert "da39a3ee5e6b4b0d3255bfef95601890afd80709 and id 123e4567-e89b-42d3-a456-426614174000" in shown
    assert redactor.counts == {
        "anthropic-key": 1,
        "aws-access-key": 1,
        "aws-secret": 1,
        "github-token": 2,
        "jwt": 1,
        "openai-key": 1,
        "password": 1,
        "private-key": 1,
        "slack-token": 1,
        "url-credentials": 2,
    }


def test_in_a_real_session_only_the_planted_secret_is_masked() -> None:
    path = SHARED / "sessions" / "essays" / "glm5-144.json"
    if not path.is_file():
        pytest.skip("the shared sessions are not beside this checkout")
    redactor = Redactor("s")
    masked = [redactor.mask(plain(text)) for text in strings(json.loads(path.read_text(encoding="utf-8")))]
    assert redactor.counts == {"hf-token": 1}
    assert sum(len(MARK.findall(text)) for text in masked) == 4
