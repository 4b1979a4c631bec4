/** The look of a report page: one style sheet, light and dark by variables. Colours of series stand in `page/draw.ts`. */
export const PAGE_STYLE = `
:root{--bg:#fff;--soft:#f5f6f8;--line:#d9dce1;--text:#1b1f24;--dim:#57606a;--link:#0b5cad;--warn:#fff4dc;--warnline:#b7791f}
:root[data-theme=dark]{--bg:#14171b;--soft:#1d2126;--line:#363c44;--text:#e6e9ec;--dim:#a3abb5;--link:#7cc0ff;--warn:#2f2714;--warnline:#e0a63a;color-scheme:dark}
:root[data-theme=light]{color-scheme:light}
@media (prefers-color-scheme:dark){:root:not([data-theme=light]){--bg:#14171b;--soft:#1d2126;--line:#363c44;--text:#e6e9ec;--dim:#a3abb5;--link:#7cc0ff;--warn:#2f2714;--warnline:#e0a63a}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1120px;padding:24px;background:var(--bg);color:var(--text);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif;overflow-wrap:anywhere}
.top{display:flex;gap:16px;align-items:flex-start;justify-content:space-between}
h1{font-size:24px;line-height:1.25;margin:0}
h2{font-size:17px;margin:0 0 8px}
p{margin:0 0 8px}
#theme{flex:none}
.facts,.hint,.note,caption{color:var(--dim)}
.facts{margin-top:4px}
.answer{font-size:18px;line-height:1.5;margin:16px 0}
.figures{list-style:none;display:grid;grid-template-columns:repeat(auto-fit,minmax(155px,1fr));gap:12px;padding:0;margin:0 0 16px}
.figures li{display:flex;flex-direction:column;background:var(--soft);border:1px solid var(--line);border-radius:8px;padding:10px 12px}
.figures .name,.figures .note{font-size:13px}
.figures .name{color:var(--dim)}
.figures .value{font-size:22px;font-variant-numeric:tabular-nums}
.figures small{font-size:13px;color:var(--dim)}
.alerts{background:var(--warn);border:1px solid var(--warnline);border-left-width:5px;border-radius:8px;padding:10px 14px;margin-bottom:16px}
.alerts h2{font-size:15px;margin:0}.alerts ul{margin:4px 0 0;padding-left:20px}
nav{display:flex;flex-wrap:wrap;gap:4px 16px;padding:8px 0;border-top:1px solid var(--line);border-bottom:1px solid var(--line)}
a{color:var(--link)}
main{display:grid;grid-template-columns:repeat(6,minmax(0,1fr));column-gap:28px}
section{grid-column:1/-1;min-width:0;padding:24px 0 8px;border-bottom:1px solid var(--line)}
@media (min-width:900px){section.third{grid-column:span 2}}
.chart{width:100%;height:320px}
.hint{font-size:13px}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums;overflow-wrap:normal}
caption{text-align:left;font-size:13px;padding-bottom:4px}
th,td{padding:5px 8px;border-top:1px solid var(--line);text-align:left;vertical-align:top}
thead th{border-top:0;font-size:12.5px;line-height:1.3;color:var(--dim);font-weight:600;vertical-align:bottom}
tbody th{font-weight:600}
.n{text-align:right}td.n{white-space:nowrap}
details{margin:8px 0}summary{cursor:pointer;color:var(--link)}
pre{background:var(--soft);border:1px solid var(--line);border-radius:8px;padding:12px;overflow-x:auto;font-size:13px;overflow-wrap:normal}
button{font:inherit;font-size:14px;color:var(--text);background:var(--soft);border:1px solid var(--line);border-radius:6px;padding:4px 12px;min-width:36px;cursor:pointer}
.zoom,.zoom>div{display:flex;flex-wrap:wrap;gap:6px;align-items:center}
.zoom{margin:8px 0;column-gap:16px}
button[aria-pressed=true]{border-color:var(--link);box-shadow:inset 0 0 0 1px var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
footer{padding:16px 0}
.skip{position:absolute;left:-999px}.skip:focus{position:static}
@media (max-width:600px){body{padding:14px}.answer{font-size:16px}h1{font-size:20px}}
@media print{main{display:block}nav,button,.zoom{display:none}section{break-inside:avoid}}
`;
