/**
 * What the plots share: a page that holds everything (inline SVG and CSS, nothing is loaded, no script runs), axes, and the escaping of
 * every text. `report/plot-timeline.ts` and `report/plot-dataset.ts` draw with it.
 */
import { printable } from './terminal.ts';

/** What a plot says about its run. Texts may come from a server or a label. */
export interface PlotHead {
  readonly model: string | null;
  readonly label: string | null;
  /** Local start time, `%Y%m%d-%H%M%S`. */
  readonly date: string;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Any text as text of HTML or of a quoted attribute; control characters are made visible. */
export function htmlText(text: string): string {
  return printable(text).replace(/[&<>"']/g, (character) => ENTITIES[character] as string);
}

/** A coordinate: a tenth of a pixel is enough, and what is no number stays out of the page. */
export function px(value: number): string {
  return Number.isFinite(value) ? String(Math.round(value * 10) / 10) : '0';
}

/** A whole number with thousands separators. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** Round values from 0 (or a round value below `from`) to `to`, about `count` of them. */
export function ticks(from: number, to: number, count: number): number[] {
  const span = to - from;
  if (!(span > 0) || !Number.isFinite(span)) return [from];
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) as number) * power;
  const out: number[] = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + step * 1e-9; k++) {
    out.push(Number((k * step).toPrecision(12)));
  }
  return out;
}

const STYLE = [
  'body{font:14px/1.5 system-ui,sans-serif;margin:24px;color:#222;background:#fff}',
  'h1{font-size:18px;margin:0}p{margin:4px 0 12px;color:#555}',
  'svg{display:block;max-width:100%;height:auto;margin-bottom:16px}svg text{font:11px system-ui,sans-serif;fill:#444}',
  '.grid{stroke:#e4e4e4}.axis{stroke:#888}.end{text-anchor:end}.mid{text-anchor:middle}',
].join('\n');

/** The page. `style` and `parts` are trusted: every text in them has gone through {@link htmlText}. */
export function page(
  title: string,
  head: PlotHead,
  about: readonly string[],
  style: string,
  parts: Iterable<string>,
): string {
  const facts = [
    ...(head.label === null ? [] : [head.label]),
    ...(head.model === null ? [] : [head.model]),
    head.date,
    ...about,
  ];
  return [
    '<!DOCTYPE html>',
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
    `<title>${htmlText(title)}</title>`,
    `<style>\n${STYLE}\n${style}\n</style></head><body>`,
    `<h1>${htmlText(title)}</h1>`,
    `<p>${facts.map(htmlText).join(' &middot; ')}</p>`,
    ...parts,
    '</body></html>\n',
  ].join('\n');
}
