"""Secrets in recorded text become stable placeholders: `«secret:github-token:4711»`.

Masked are keys whose shape their issuer published (`_ISSUED`, `_SHAPES`) and values whose name says that they are
secret (`_NAMED`). Not masked are hashes, ids and signatures without such a name; what stands for one (`<your key>`,
`$TOKEN`, `***`, `changeme`); code (`os.environ["X"]`, `self.token`, `password: str`); phrases of several words; and,
without quotes and digits, what may be a variable or prose (`password = letmein`, but not `PASSWORD=letmein`).

Masking works on decoded text, after `sanitize.plain`: a token that colour codes cut in two is not seen before them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple

_A = "[A-Za-z0-9]"
_W = "[A-Za-z0-9_-]"

# Kind, how it may begin, what follows; then the published length of what follows. Ours is less: clipped keys count too.
# No condition may stand behind an unbounded repeat: it keeps the search linear. A group is the secret where not all is.
_ISSUED = (
    ("github-token", "gh", "[pousr]_[A-Za-z0-9_]{30,}"),  # 36 to 251
    ("github-token", "github_pat_", "[A-Za-z0-9_]{36,}"),  # 82
    ("hf-token", "hf_ api_org_", _A + "{30,}"),  # 34 letters
    ("anthropic-key", "sk-", f"ant-{_W}{{16,}}"),  # api03-, admin01- or oat01-, then 93 and AA
    ("openrouter-key", "sk-", f"or-{_W}{{20,}}"),  # v1- and 64 hex digits
    ("openai-key", "sk-", f"(?:proj|svcacct|admin|None)-{_W}{{20,}}"),  # 74 or 58, T3BlbkFJ, as many again
    ("openai-key", "sk-", f"(?=[a-z]*[A-Z0-9]){_A}{{20,}}"),  # 48; 32 hex digits at DeepSeek, Moonshot and others
    ("aws-access-key", "AKIA ASIA", "[A-Z0-9]{16}"),
    ("google-api-key", "AIza", _W + "{30,}"),  # 35
    ("google-oauth", "ya29. GOCSPX- 1//0", _W + "{20,}"),  # access token; client secret, 28; refresh token
    (
        "gitlab-token",
        "gl",
        rf"(?:pat|dt|rt|cbt|ptt|ft|soat|oas|imt|agent)-{_W}{{20,}}(?:\.[0-9a-z]{{2,9}}){{0,2}}",
    ),  # 20
    ("slack-token", "xox xapp", rf"[a-z]?(?:\.xox[a-z])?-{_W}{{15,}}"),  # xoxb, xoxp, xoxe.xoxp: numbers and letters
    ("slack-webhook", "hooks.slack.com/", "(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,})"),  # T…/B…/24
    ("discord-webhook", "/api/webhooks/", f"[0-9]{{10,20}}/({_W}{{30,}})"),  # 68
    ("discord-token", "M N O", rf"{_A}{{23,27}}\.{_W}{{6}}\.{_W}{{27,}}"),  # 23 to 25, 6, 27 to 38
    ("stripe-key", "sk_ rk_", f"(?:live|test)_{_A}{{10,}}"),  # 24 to 99
    ("stripe-key", "whsec_", "[A-Za-z0-9+/=]{24,}"),  # 32
    ("sendgrid-key", "SG.", rf"{_W}{{16,}}\.{_W}{{16,}}"),  # 22 . 43
    ("twilio-key", "SK", "[0-9a-f]{32}"),
    ("npm-token", "npm_", _A + "{30,}"),  # 36
    ("pypi-token", "pypi-AgE", _W + "{30,}"),  # a macaroon: 150 and more
    ("docker-token", "dckr_", f"[po]at_{_W}{{20,}}"),  # 27
    ("digitalocean-token", "do", "[opr]_v1_[0-9a-f]{40,}"),  # 64
    ("databricks-token", "dapi", "[0-9a-f]{32}"),
    ("groq-key", "gsk_", _A + "{40,}"),  # 52
    ("xai-key", "xai-", _A + "{40,}"),  # 80
    ("replicate-token", "r8_", _A + "{30,}"),  # 37
    ("perplexity-key", "pplx-", _A + "{32,}"),  # 48
    ("tavily-key", "tvly-", _W + "{20,}"),  # 32, dev- or prod- before them
    ("nvidia-key", "nvapi-", _W + "{40,}"),  # 64
    ("notion-token", "ntn_ secret_", _A + "{40,}"),  # 46; 43 until 2024
    ("linear-key", "lin_", f"(?:api|oauth)_{_A}{{32,}}"),  # 40; 64
    ("figma-token", "figd_", _W + "{30,}"),  # 40
    ("sentry-token", "sntry", "[su]_[A-Za-z0-9_+/=-]{40,}"),  # eyJ…_43; 64 hex digits
    ("vercel-token", "vc", f"[piark]_(?={_W}{{0,40}}[0-9]){_W}{{40,}}"),  # 56
    ("vercel-token", "vercel_blob_rw_", "[A-Za-z0-9_]{30,}"),
    ("vault-token", "hv", rf"[sb]\.{_W}{{24,}}"),  # 90 and more
    ("azure-key", "AccountKey= SharedAccessKey=", "([A-Za-z0-9+/]{40,}={0,2})"),  # 86 and ==; 43 and =
    ("azure-sas", "sig=", "([A-Za-z0-9%+/]{40,}={0,2})"),  # 44 before it is % encoded
)
_SHAPES = (
    ("jwt", "eyJ", rf"eyJ(?:(?<![A-Za-z0-9_»-]eyJ)|(?<=\\[nrt]eyJ)){_W}{{13,}}+\.{_W}{{4,}}+\.{_W}{{4,}}"),  # RFC 7519
    ("telegram-token", ":AA", rf"(?<![0-9»])[0-9]{{8,10}}:AA{_W}{{33}}"),
)
_RUN = re.compile("[A-Za-z0-9_+/%.:=-]{16,}+")  # what matches one of the above is inside of it, most text is not
_BREAK = r"""(?:\s|\\[nrt]|["',>|+]|(?<=[\sn])[0-9]{1,6}[:|\t])"""  # also a written \n, quotes, a listing's numbers
_PRIVATE_KEY = re.compile(  # RFC 7468; without an end: all base64. No possessive groups: CPython 106052, up to 3.11.4
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?:{_BREAK}+(?:(?:Proc|DEK|Ver|Com)[A-Za-z-]{{3,6}}: [^\n\\]{{0,80}}+"
    r"|[A-Za-z0-9+/]{16,}+={0,2}|[A-Za-z0-9+/]{2,15}+=))+"
    rf"(?:{_BREAK}*(?:(?=[A-Za-z0-9+/=])=*+[A-Za-z0-9+/]{{0,15}}+=*+{_BREAK}*)?-----END [A-Z0-9 ]{{1,40}}-----"
    r"|\n[A-Za-z0-9+/]{1,15}\Z)?"
)
_PLACEHOLDER = re.compile(r"«secret:[a-z0-9-]{1,40}:[0-9]{1,4}»")
_URL = re.compile(r"://[^\s/:@?#\"'`<>«»]{0,128}:([^\s/@?#\"'`<>«»]{1,256})@")  # RFC 3986, userinfo

_NAME_END = r"(?:[_-]?[0-9]{1,2})?(?:\\*[\"'])?\]?[ \t]*+"
_SIGN = r"(?::[ \t]*[a-z_][a-z0-9_.\[\]| ]{0,40}? = |=>|:=|[:=](?![=:]))[ \t]*+"
_OPTION = r"--(?:[a-z0-9]++-){0,4}"
_NAMED = (
    # tier, what every match contains, the name up to the value; on lower-cased text
    ("password", "pass", re.compile("pass(?:word|wd|phrase)?" + _NAME_END + _SIGN)),
    ("password", "pwd", re.compile("pwd" + _NAME_END + _SIGN)),
    ("password", "--", re.compile(_OPTION + r"(?:password|passwd|passphrase|pass)[ \t]++(?!-)")),
    ("aws-secret", "secret", re.compile("secret_?access_?key" + _NAME_END + _SIGN)),
    ("credential", "secret", re.compile("secret" + _NAME_END + _SIGN)),
    ("credential", "token", re.compile("token" + _NAME_END + _SIGN)),
    ("credential", "credential", re.compile("credentials?" + _NAME_END + _SIGN)),
    ("credential", "--", re.compile(_OPTION + r"(?:token|secret|key)[ \t]++(?!-)")),
    ("key", "key", re.compile("key(?:(?<=[_-]key)|(?<=(?:api|ess|ret)key))" + _NAME_END + _SIGN)),
)
# before the last word of a name: it is secret (other `…_KEY` only if the value looks so); it is not, as in `pad_token`
_SECRET_KEY = re.compile("(?:api|access|secret|auth|private|account|encryption|signing|master)[_-]?$", re.IGNORECASE)
_OPEN = re.compile("(?:next|page|continuation|eos|bos|pad|unk|mask|sep|cls|stop|public)[_-]?$", re.IGNORECASE)
_NAME_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_BARE = r"""[^\s"'`,;&|<>(){}\[\]«»\\=]"""
_VALUE = re.compile(  # the last group, without quotes, stops at 100: text full of names would cost its square
    r"""[rbu]?"([^"\\\n]*+(?:\\.[^"\\\n]*+)*)"|[rbu]?'([^'\\\n]*+(?:\\.[^'\\\n]*+)*)'|\\+["']([^"'\\\n]*+)\\+["']"""
    rf"|({_BARE}{{1,100}}+={{0,2}})"
)
_REST = re.compile(rf"{_BARE}*+(?:&(?![&\s]|[\w.-]{{1,40}}=){_BARE}*+)*={{0,2}}")  # `&x=`: the next of a query
_HEADER = re.compile(
    r"authorization(?:\\*[\"'])?\]?[ \t]*+[:=,][ \t]*+(?:\\*[\"'])?(?P<scheme>(?:bearer|basic|token|digest)[ \t]++)?"
    r"|(?P<bearer>bearer)[ \t]++"
)

# a value that only shows where a secret goes; `changeme` is one, as it is in every manual
_STANDS_FOR_ONE = re.compile(
    r"""
    [\W_xX]*                                                        # ***, ..., xxx
    | [^$<{%]*(?:\$\{|\{\{|<[^<>]*>|%\(|%s|\{[A-Za-z_.]*\}).*       # ${VAR}, {{ var }}, <your key>, %s, {name}
    | \$[\w:-]*|\$\(.*|%\w+%|[*!][a-z_]+|\(.*\)|\[.*\]|[{<].*           # $VAR, $(cat key), *alias, (hidden), [masked]
    | (?:your|insert|enter|replace|change|put|paste|example|dummy|placeholder|redacted|masked)(?-i:[\W_A-Z].*|me)?
    | (?:(?:my|the|test|user|new|old|db|admin|root)[_-]?)?
      (?:password|passwd|passphrase|pwd|pass|secret|token|api[_-]?key|key|credentials?)
    | none|null|nil|undefined|true|false|yes|no|on|off|str|string|text|bytes|int|integer|number|boolean|bool|any
    | optional|object|required|unset|not[_-]?set|missing|invalid|incorrect|empty|hidden|removed|default|value|todo|tbd
    | n/?a|file|path|env|prompt|stdin|options?|argument|parameter|flag|[\w./-]*\.(?:json|ya?ml|toml|pem|key|txt|env)
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_CODE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+")
_DRAWN = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9_.+/:@~!%^*-]{8,}={0,2}")
_WORD = "(?:[A-Za-z]*[0-9]{0,2}|[0-9]+[A-Za-z]{0,3})(?![A-Za-z0-9])"
_WORDS = re.compile(f"{_WORD}(?:[^A-Za-z0-9]+{_WORD})*")  # `my-app-token-v2`, `gpt-4o-mini`, `2024-01-31`, `12.5tok/s`
_ID = re.compile("(?:msg|prt|ses|toolu|call|req|resp|rs|fc|run|evt|chatcmpl)[_-].*", re.DOTALL)
_UUID = re.compile("[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def _rules() -> Iterator[tuple[str, str, re.Pattern[str]]]:
    """What every match contains, kind and pattern; a more exact one first."""
    for kind, prefixes, rest in _ISSUED:
        for prefix in prefixes.split():
            # looks back from behind the prefix, so a search can skip; a word begins after a written \n, but not after »
            word = re.escape(prefix)
            yield prefix, kind, re.compile(rf"{word}(?:(?<![A-Za-z0-9»]{word})|(?<=\\[nrt]{word})){rest}")
    yield from ((needle, kind, re.compile(shape)) for kind, needle, shape in _SHAPES)


_RULES = tuple(_rules())


class Redactor:
    """Masks secrets; one for a session.

    The number of a placeholder (1 to 9999) is a keyed hash of the session's id and the secret: the same secret has the
    same one in every text, run and essay of a session, whatever was read before; two secrets may share one by chance.
    The id is no secret: who guesses a weak password can tell a wrong guess by the number.
    """

    def __init__(self, salt: str, *, off: bool = False) -> None:
        self._key = hashlib.blake2b(salt.encode("utf-8", "surrogatepass"), digest_size=32).digest()
        self._off = off
        self._seen: dict[str, set[bytes]] = {}

    @property
    def counts(self) -> dict[str, int]:
        """Kind → number of different secrets masked so far, by name."""
        return {kind: len(self._seen[kind]) for kind in sorted(self._seen)}

    def mask(self, text: str) -> str:
        """The text with every secret replaced; placeholders that stand in it already are left alone."""
        found = () if self._off else _find(text)
        # the outer one of two comes first, and of two equal ones the one found first
        spans = sorted((start, -end, order, kind) for order, (start, end, kind) in enumerate(found))
        pieces: list[str] = []
        position = 0
        for begin, minus_end, _, kind in spans:
            start, end = max(begin, position), -minus_end
            if start < end:
                pieces += text[position:start], self._placeholder(kind, text[start:end]) if kind else text[start:end]
                position = end
        return "".join(pieces) + text[position:] if pieces else text

    def _placeholder(self, kind: str, secret: str) -> str:
        digest = hashlib.blake2b(secret.encode("utf-8", "surrogatepass"), key=self._key, digest_size=8).digest()
        self._seen.setdefault(kind, set()).add(digest)
        return f"«secret:{kind}:{int.from_bytes(digest) % 9999 + 1}»"


def _find(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and kind (empty: masked already) of what to mask; they may overlap, more exact ones come first."""
    yield from ((*match.span(), "") for match in _PLACEHOLDER.finditer(text))
    yield from ((*match.span(), "private-key") for match in _PRIVATE_KEY.finditer(text))
    runs = "\n".join(_RUN.findall(text))
    for needle, kind, pattern in _RULES if runs else ():
        for match in pattern.finditer(text) if needle in runs else ():
            yield *match.span(match.lastindex or 0), kind
    yield from ((*m.span(1), "url-credentials") for m in _URL.finditer(text) if not _STANDS_FOR_ONE.fullmatch(m[1]))
    yield from _find_named(text)


def _find_named(text: str) -> Iterator[tuple[int, int, str]]:
    low = text.lower() if text.isascii() else text.replace("İ", "I").lower()  # İ alone would become longer
    for match in _HEADER.finditer(low) if "authorization" in low or "bearer" in low else ():
        value = re.compile("[A-Za-z0-9._~+/-]{8,}+={0,2}(?!«)").match(text, match.end())
        if value and _is_authorization(value[0], explicit=bool(match["scheme"] or match["bearer"])):
            yield *value.span(), "bearer"
    for tier, needle, name in _NAMED:
        covered = 0
        for match in name.finditer(low) if needle in low else ():
            if match.start() >= covered and (place := _assigned(text, match, tier)):
                covered = place[1]
                yield *place, "credential" if tier == "key" else tier


def _is_authorization(value: str, *, explicit: bool) -> bool:
    if _STANDS_FOR_ONE.fullmatch(value) or re.fullmatch("[A-Z]?[a-z._-]*|[A-Z._-]*", value):
        return False
    return explicit or _is_random(value)


def _is_random(value: str) -> bool:
    """Whether it looks drawn by lot: letters and digits that are no words with numbers."""
    return bool(_DRAWN.fullmatch(value)) and not _WORDS.fullmatch(value)


class _Named(NamedTuple):
    """A value and what stands around it: `export ` `DB_` `PASSWORD=` `hunter2` and a line feed."""

    lead: str
    prefix: str
    word: str
    value: str
    after: str
    quoted: bool

    @property
    def is_variable(self) -> bool:
        """Written as an environment has it: capitals, and no space before the value."""
        return self.word[:3].isupper() and self.word.endswith("=")

    @property
    def is_literal(self) -> bool:
        """Whether a bare word is meant as it stands, and is neither a variable of a program nor prose."""
        if self.word.startswith("--"):
            return len(self.value) > 4
        if self.word.endswith("="):
            ends = self.after == "" or self.after in " \t\r\n&;\"'`\\"
            return self.is_variable or (ends and self.lead[-1:] not in ("(", ",", ".") and "_" not in self.value)
        begins = self.lead.rstrip(" \t-\"'")[-1:] in ("", "\n") and ":" in self.word
        return begins and self.after in ("", "\n", "\r") and self.value.islower() and "_" not in self.value


def _assigned(text: str, name: re.Match[str], tier: str) -> tuple[int, int] | None:
    """Where the value behind a name is; None when it is no secret."""
    found = _VALUE.match(text, name.end())
    if found is None:
        return None
    start, end = found.span(found.lastindex or 0)
    before = text[max(0, name.start() - 40) : name.start()]
    lead = before.rstrip(_NAME_CHARACTERS)
    word, quoted = text[name.start() : name.end()], found[4] is None
    named = _Named(lead, before[len(lead) :], word, text[start:end], text[end : end + 1], quoted)
    if not _is_secret(named, tier):
        return None
    rest = None if quoted else _REST.match(text, end)
    return start, rest.end() if rest else end


def _is_secret(named: _Named, tier: str) -> bool:
    value = named.value
    if len(value) < 3 or value[0] in "/~:&" or "://" in value or "«" in value:
        return False
    if named.quoted and not (tier == "password" and named.is_variable) and re.search(r"\s", value):
        return False
    if not named.quoted and (named.after in ("(", "[", "{", "«") or _CODE.fullmatch(value)):
        return False
    if not (_is_password(named) if tier == "password" else _is_key(named, tier)):
        return False
    return not _STANDS_FOR_ONE.fullmatch(value.rstrip("="))


def _is_password(named: _Named) -> bool:
    word, value = named.word.lower(), named.value
    if re.match("pass(?!w|p)", word) and not (named.is_variable and named.prefix.endswith("_")):
        return False
    if named.lead.endswith("/etc/") or (word.startswith("pwd") and "/" in value):
        return False
    return named.quoted or named.is_literal or not value.replace("_", "a").isalpha()


def _is_key(named: _Named, tier: str) -> bool:
    value = named.value
    if tier == "aws-secret":
        return len(value) >= 30 or _is_random(value)
    if _OPEN.search(named.prefix) or _ID.fullmatch(value):
        return False
    if tier == "key" and not _SECRET_KEY.search(named.prefix):
        return named.is_variable and len(value) >= 16 and _is_random(value) and not re.fullmatch("[0-9a-fA-F-]+", value)
    if named.word.startswith("token") and _UUID.fullmatch(value):
        return False
    return _is_random(value) or (named.is_variable and len(value) >= 8 and not value.isdigit())
