"""Check every link of a site on disk."""

from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.places.add(named.get("id"))
        self.links += [named[name] for name in ("href", "src") if named.get(name)]


def dead_links(site):
    """List the links without a target: no file of the site, or no anchor on its page."""
    pages = {path: _Page(path.read_text("utf-8")) for path in site.rglob("*.html")}
    assert pages
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            known = pages.get(next((one for one in pages if one.resolve() == target), None))
            place = parts.fragment
            if not target.is_file() or (place and known is not None and place not in known.places):
                dead.append(f"{path.relative_to(site)}: {link}")
    return dead
