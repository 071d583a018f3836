"""Languages an essay can be asked for in: by name, in their own name, or by tag."""

from __future__ import annotations

import re

ENGLISH = "English"
_NAMES = {
    "ar": "Arabic/العربية",
    "bg": "Bulgarian/български",
    "bn": "Bengali/বাংলা",
    "ca": "Catalan/català",
    "cs": "Czech/čeština",
    "cy": "Welsh/Cymraeg",
    "da": "Danish/dansk",
    "de": "German/Deutsch",
    "el": "Greek/ελληνικά",
    "en": "English",
    "es": "Spanish/español",
    "et": "Estonian/eesti",
    "eu": "Basque/euskara",
    "fa": "Persian/فارسی",
    "fi": "Finnish/suomi",
    "fr": "French/français",
    "ga": "Irish/Gaeilge",
    "he": "Hebrew/עברית",
    "hi": "Hindi/हिन्दी",
    "hr": "Croatian/hrvatski",
    "hu": "Hungarian/magyar",
    "id": "Indonesian/bahasa Indonesia",
    "is": "Icelandic/íslenska",
    "it": "Italian/italiano",
    "ja": "Japanese/日本語",
    "ko": "Korean/한국어",
    "lt": "Lithuanian/lietuvių",
    "lv": "Latvian/latviešu",
    "ms": "Malay/bahasa Melayu",
    "nl": "Dutch/Nederlands",
    "no": "Norwegian/norsk",
    "pl": "Polish/polski",
    "pt": "Portuguese/português",
    "ro": "Romanian/română",
    "ru": "Russian/русский",
    "sk": "Slovak/slovenčina",
    "sl": "Slovenian/slovenščina",
    "sr": "Serbian/српски",
    "sv": "Swedish/svenska",
    "sw": "Swahili/Kiswahili",
    "ta": "Tamil/தமிழ்",
    "th": "Thai/ไทย",
    "tr": "Turkish/Türkçe",
    "uk": "Ukrainian/українська",
    "ur": "Urdu/اردو",
    "vi": "Vietnamese/Tiếng Việt",
    "zh": "Chinese/中文",
}
"""Tag → English name, and its own."""
_BY_NAME = {name.casefold(): tag for tag, names in _NAMES.items() for name in names.split("/")}
_TAG = re.compile(r"([A-Za-z]{2,3})((?:[-_][A-Za-z0-9]{2,8})*)")
_LONGEST = 40
"""Characters of a language's name."""
_ALLOWED = re.compile(r"[^\W\d_](?:[^\W\d_]|[\u0300-\u036f\u0900-\u0dff\u0e00-\u0e7f]|[ '’()-])*")


def name_language(asked: str) -> str:
    """The English name of a language that is asked for by any of its names; a name that is not known stays as it is.

    Raises:
        ValueError: it is no name and no known tag; says why.
    """
    words = asked.strip()
    if not words:
        raise ValueError("is empty; give a language, as German or de")
    if (tag := _BY_NAME.get(words.casefold())) is not None:
        return _english(tag)
    if (match := _TAG.fullmatch(words)) is not None and (len(words) < 4 or match[2]):
        if (tag := match[1].lower()) not in _NAMES:
            raise ValueError("is a tag that is not known here; give the language's name, as German")
        region = "-".join(part.upper() if len(part) == 2 else part for part in match[2].replace("_", "-").split("-"))
        return f"{_english(tag)} ({tag}{region})" if region else _english(tag)
    if len(words) > _LONGEST or not _ALLOWED.fullmatch(words):
        raise ValueError("is no name of a language; give at most 40 letters, spaces and hyphens, as German or de")
    return words


def tag_of(language: str) -> str:
    """The tag for `lang` on a page, of a name or of a tag; "" for a language whose tag is not known."""
    if (tag := _BY_NAME.get(language.casefold())) is not None:
        return tag
    inner = re.search(r"\(([A-Za-z]{2}(?:-[A-Za-z0-9]{2,8})+)\)$", language)
    given = inner[1] if inner is not None else language
    match = _TAG.fullmatch(given)
    return given if match is not None and match[1].lower() in _NAMES else ""


def _english(tag: str) -> str:
    return _NAMES[tag].partition("/")[0]
