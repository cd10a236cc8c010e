#!/bin/sh
# Makes app/web/static/inter/inter.woff2 again: Inter (SIL Open Font License) for Latin and Cyrillic, weights 400 to 700, at
# the optical size of text. Needs a package index; the same versions give the same file.
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet fontpkg-inter==4.1.post1 fonttools==4.68.0 brotli==1.2.1
font=$("$work/venv/bin/python" -c 'import fontpkg_inter, pathlib; print(pathlib.Path(fontpkg_inter.__file__).parent)')

export SOURCE_DATE_EPOCH=0
"$work/venv/bin/fonttools" varLib.instancer --quiet --no-recalc-timestamp "$font/files/Inter[opsz,wght].ttf" \
    opsz=14 wght=400:700 --output "$work/inter.ttf"
# Basic Latin, Latin-1, Latin Extended-A; Cyrillic with Ukrainian; combining accents, punctuation, currencies, arrows.
"$work/venv/bin/pyftsubset" "$work/inter.ttf" \
    --unicodes='U+0020-007E,U+00A0-017F,U+0218-021B,U+0300-0304,U+0306-030C,U+0400-045F,U+0490-0491,U+2010-2014,U+2018-201E,U+2022,U+2026,U+202F,U+2030,U+2032-2033,U+2039-203A,U+20A0-20BF,U+2116,U+2122,U+2190-2193,U+2212,U+2248,U+2260,U+2264-2265' \
    --layout-features='kern,liga,calt,ccmp,locl,mark,mkmk,tnum,case' --no-recalc-timestamp \
    --flavor=woff2 --output-file="$here/app/web/static/inter/inter.woff2"
cp "$font/LICENSE" "$here/app/web/static/inter/LICENSE"
