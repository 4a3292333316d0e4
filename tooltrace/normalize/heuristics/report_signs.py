"""Quick test that keeps texts which report nothing away from the patterns.

Every text that a rule reads has one of these signs. An ordinary text has none, so that it costs a few microseconds.
"""

from __future__ import annotations

from tooltrace.normalize.heuristics import programs
from tooltrace.normalize.heuristics.literal_search import literal_search
from tooltrace.normalize.lazy_regex import lazy

_WORDS = (
    "err fail unreach except not_ n't_ no_ can't cannot unable invalid illegal malform unsupp unrec unknown miss den rej "
    "refus declin abort cancel kill crash timed timeout time_out deadline limit exceed quota many expired unauth "
    "forbid trace panic fatal exit fault requir lock encrypt protect only_ another_ oops none_of could_be match "
    "occurrence must wrong lost reset closed conflict unav insuff bad_ duplic ambig undef unexp retry again "
    "sorry http sql ora- msg_ out_of ran_out directory read-only disall dumped incorrect empty went enough "
    "terminat uncaught thread e: make yarn pnpm gyp pattern exhausted throttl oom return usage daemon raise "
    "command < disab already expected please_ kindly_ need_to fehl support reached too_ peer stopped_due trunc "
    "clipp corrupt apply lacks cut_off omit incompl partial showing displaying shown {' null "
    "nicht no_se no_fue no_es no_hay no_existe échou échec erreur não impossib ningún falló fallid inválid desconocid non_ permis negado négat nelze nepoda udało można "
    "znalezion istnieje niepo niepr neznám neplat neexist nenalez selhal zlyhal chyb niet mislukt geen ongeldig onbekend inte ikke ikkje misslyck mislyk "
    "ogilt ugyld okän ukjent ukend virhe ei_ epäonn tuntem hata geçersiz bilinm amadı emedi amıyor emiyor başarısız hiba nem_ sikertelen eroare nu_ eșu "
    "gagal tidak galat ralat lỗi không thất keine zeitüb schlug ungült unbek zugriff no_s introuv inconnu invalide inattendu trobat vàlid "
    "nepodpor neočekáv chýba existe già existiert accès accesso acesso acceso denegad verweig espera_agotado sconosc"
)
"""Parts of words in lower case, with an underscore for a space; every report in English has one."""
_SIGNS_OF_RUNTIMES = (
    *("by zero", "index out", "has no attr", "object", "operand", "indices", "values to", "literal", "recursion"),
    *("line 1", "column", "econn", "enotfound", "eai_", "hang up", "certificate", "syntax", "constraint", "upstream"),
    *(
        "module",
        "concatenate",
        "convert string",
        "unhash",
        "token",
        "net::",
        "position",
        "argument",
        "disconnect",
        "route",
    ),
)
"""Parts in lower case of which each such message has one."""
_STATUS = lazy("[45][0-9][0-9]")
_SIGNS = lazy("[\u2600-\u27bf\u2e80-\U0010ffff\u0370-\u06ff\u0e00-\u0e7f]")
"""Letters of other scripts, and signs such as a cross."""
_occurs_anywhere = literal_search([word.replace("_", " ") for word in _WORDS.split()])
_occurs_in_front = literal_search(_SIGNS_OF_RUNTIMES)
_FRONT = 300
"""Maximum characters of the message of an exception that are searched for its signs."""
_PHRASE = 80
"""Maximum characters of a phrase, which may have underscores or hyphens for spaces."""
LONGEST = 2000
"""Maximum characters of a text in which every report has a sign; a longer one may be the output of a crash."""


def may_report(text: str) -> bool:
    """Whether ``text`` has one of the words or signs that every short report of a failure has."""
    lowered = text.lower()
    if _occurs_anywhere(lowered) or _occurs_in_front(lowered[:_FRONT]) or _STATUS.search(lowered):
        return True
    return not lowered.isascii() and _SIGNS.search(lowered) is not None


def may_be_read(text: str) -> bool:
    """Whether a rule for texts may read ``text``: a quick test that never rejects a text that a rule reads."""
    if len(text) > LONGEST or may_report(text) or programs.may_report(text):
        return True
    if len(text) > _PHRASE:
        return False
    spaced = " ".join(text.replace("_", " ").replace("-", " ").split())
    return spaced != text and may_report(spaced)
