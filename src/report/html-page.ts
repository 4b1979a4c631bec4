/**
 * Writes a page: one file that holds everything, opens from disk and asks no network for anything. Texts and tables are HTML that needs
 * no script; the charts are drawn by the bundled script from the data that stand in the page. A content policy lets that one script
 * run and nothing else, and every text goes through {@link htmlText} or {@link embedded}.
 */
import { createHash } from 'node:crypto';
import type { Cell, PageData, PageSection, PageTable } from './html-data.ts';
import { PAGE_STYLE } from './html-style.ts';
import { htmlText } from './plot-html.ts';

/** JSON that may stand in a script element: no text in it ends the element or a line of script. */
export function embedded(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A number with its digits, thousands apart. */
export function cellText(cell: Cell): string {
  if (typeof cell === 'string') return cell;
  const { value, digits } = cell;
  if (value === null || !Number.isFinite(value)) return '–';
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function tableHtml({ caption, columns, rows }: PageTable): string {
  const head = columns.map(
    (name, k) => `<th scope="col"${isNumbers(rows, k) ? ' class="n"' : ''}>${htmlText(name)}</th>`,
  );
  const body = rows.map((row) => {
    const cells = row.map((cell, k) => {
      const text = htmlText(cellText(cell));
      if (k === 0) return `<th scope="row">${text}</th>`;
      if (typeof cell === 'string') return `<td>${text}</td>`;
      return `<td class="n" data-value="${cell.value === null ? '' : htmlText(String(cell.value))}">${text}</td>`;
    });
    return `<tr>${cells.join('')}</tr>`;
  });
  // Focusable, so that a table wider than the window can be scrolled by the keys.
  return (
    `<div class="wide" tabindex="0" role="region" aria-label="${htmlText(caption)}"><table><caption>${htmlText(caption)}</caption>` +
    `<thead><tr>${head.join('')}</tr></thead><tbody>${body.join('')}</tbody></table></div>`
  );
}

function isNumbers(rows: PageTable['rows'], column: number): boolean {
  return rows.some((row) => typeof row[column] === 'object');
}

const ZOOM = [
  ['in', 'Zoom in', '+'],
  ['out', 'Zoom out', '−'],
  ['left', 'Earlier', '←'],
  ['right', 'Later', '→'],
  ['all', 'Show all', 'All'],
] as const;

/** Longer texts than this stand only where a screen reader finds them; for all others there is the table. */
const MAX_HINT = 300;
const FOOTER =
  'In a chart a click on a name of its legend, or a key from 1 to 9, hides and shows that line. What a chart draws stands in the table below it, or in the tables of its page.';
const ZOOM_HINT = 'Drag to move, Ctrl + wheel to zoom; in the chart the keys + − ← → 0, or the sliders.';

function chartHtml({ id, title, chart, chartText }: PageSection): string {
  if (chart === undefined) return '';
  const canZoom = chart.type === 'waterfall' || (chart.type === 'xy' && chart.canZoom === true);
  const buttons = ZOOM.map(
    ([action, name, sign]) =>
      `<button type="button" data-zoom="${action}" aria-label="${name}: ${htmlText(title)}" title="${name}">${sign}</button>`,
  );
  const text = htmlText(`${title}: ${chartText ?? ''}`);
  const wait =
    chart.type === 'waterfall' && chart.wait === 'place'
      ? '<button type="button" data-wait aria-pressed="false">Show the wait for a place</button>'
      : '';
  return (
    (canZoom
      ? `<div class="zoom"><div role="group" aria-label="Zoom">${buttons.join('')}</div>${wait}<span class="hint">${ZOOM_HINT}</span></div>`
      : '') +
    `<div class="chart ${chart.type}" data-chart="${htmlText(id)}" role="img" tabindex="0" aria-label="${text}"></div>` +
    (chartText === undefined || chartText.length > MAX_HINT ? '' : `<p class="hint">${htmlText(chartText)}.</p>`)
  );
}

function sectionHtml(section: PageSection): string {
  const { id, title, words = [], table, isThird, isTableFolded, code } = section;
  const parts = [
    `<section id="${htmlText(id)}"${isThird === true ? ' class="third"' : ''}><h2>${htmlText(title)}</h2>`,
  ];
  for (const text of words) parts.push(`<p>${htmlText(text)}</p>`);
  parts.push(chartHtml(section));
  if (table !== undefined) {
    const html = tableHtml(table);
    parts.push(
      isTableFolded === true ? `<details><summary>${htmlText(table.caption)}</summary>${html}</details>` : html,
    );
  }
  if (code !== undefined)
    parts.push(`<pre tabindex="0"><code>${code.split('\n').map(htmlText).join('\n')}</code></pre>`);
  parts.push('</section>');
  return parts.join('');
}

function headHtml({ title, facts, answer, figures, alerts, sections }: PageData): string {
  const tiles = figures.map(
    ({ name, value, unit, note }) =>
      `<li><span class="name">${htmlText(name)}</span><span class="value">${htmlText(value)} <small>${htmlText(unit)}</small></span><span class="note">${htmlText(note)}</span></li>`,
  );
  const links = sections.map(({ id, title: name }) => `<a href="#${htmlText(id)}">${htmlText(name)}</a>`);
  return [
    '<header><div class="top"><h1>',
    htmlText(title),
    '</h1><button type="button" id="theme" aria-pressed="false">Dark</button></div>',
    `<p class="facts">${facts.map(htmlText).join(' · ')}</p>`,
    `<p class="answer">${answer.map(htmlText).join(' ')}</p>`,
    tiles.length === 0 ? '' : `<ul class="figures">${tiles.join('')}</ul>`,
    alerts.length === 0
      ? ''
      : `<div class="alerts" role="note"><h2>Before you rely on this</h2><ul>${alerts.map((text) => `<li>${htmlText(text)}</li>`).join('')}</ul></div>`,
    `<nav aria-label="Sections">${links.join('')}</nav></header>`,
  ].join('');
}

/**
 * The page as text.
 * @param script the bundled `page/draw.ts`
 */
export function htmlPage(data: PageData, script: string): string {
  const code = script.replaceAll('</script', '<\\/script');
  const hash = createHash('sha256').update(code).digest('base64');
  const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'`;
  const charts = Object.fromEntries(
    data.sections.flatMap(({ id, chart }) => (chart === undefined ? [] : [[id, chart] as const])),
  );
  return [
    '<!DOCTYPE html>',
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">',
    `<title>${htmlText(data.title)}</title><style>${PAGE_STYLE}</style></head><body>`,
    '<a class="skip" href="#main">Skip to the results</a>',
    headHtml(data),
    `<main id="main" tabindex="-1">${data.sections.map(sectionHtml).join('\n')}</main>`,
    Object.keys(charts).length === 0 ? '' : `<footer class="hint">${FOOTER}</footer>`,
    `<script type="application/json" id="charts">${embedded(charts)}</script>`,
    `<script>${code}</script>`,
    '</body></html>\n',
  ].join('\n');
}
