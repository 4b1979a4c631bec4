/**
 * The panel as lines: what is shown at which size. A pure function of a snapshot and the size of the window; every figure has a place and a
 * width of its own, so that nothing jumps while numbers change, and what has no room is left out whole.
 */
import { HISTORY_S, type PanelLatency, type PanelSnapshot } from './panel-history.ts';
import {
  barSpans,
  clockText,
  columnsOf,
  cutLine,
  fittingPieces,
  type Glyphs,
  latencyText,
  outside,
  type PanelLine,
  plainText,
  rateText,
  type Span,
  span,
  sparkText,
} from './panel-text.ts';

/** What the panel is about, from outside: `level 8 streams`, the load, the model. */
export type PanelTitle = readonly string[];

/** A window. */
export interface PanelSize {
  readonly columns: number;
  readonly rows: number;
}

/** Windows from these on have room for long labels and words behind the figures. */
const WIDE_COLUMNS = 60;
const MEDIUM_COLUMNS = 40;
const GAP = 2;

interface Piece {
  readonly line: PanelLine;
  readonly weight: number;
}

/** One line of the panel; where there are fewer rows those of least weight are left out. */
interface Row {
  readonly line: PanelLine;
  readonly weight: number;
}

/** What all lines need to know. */
interface Look {
  readonly columns: number;
  readonly glyphs: Glyphs;
  readonly isWide: boolean;
  readonly isMedium: boolean;
}

/**
 * The lines, none wider than the window less one column (terminals differ in what they do at the last one), and one fewer than it has rows;
 * at least one.
 */
export function panelLines(
  snapshot: PanelSnapshot,
  title: PanelTitle,
  size: PanelSize,
  glyphs: Glyphs,
): readonly PanelLine[] {
  const columns = Math.max(1, size.columns - 1);
  const look = { columns, glyphs, isWide: columns >= WIDE_COLUMNS - 1, isMedium: columns >= MEDIUM_COLUMNS - 1 };
  const most = Math.max(1, size.rows - 1);
  const rows = most === 1 ? [{ line: oneLine(snapshot, look), weight: 0 }] : allRows(snapshot, title, look);
  const kept = rows.toSorted((a, b) => b.weight - a.weight).slice(0, most);
  return rows.filter((row) => kept.includes(row)).map(({ line }) => cutLine(line, columns, glyphs));
}

function allRows(snapshot: PanelSnapshot, title: PanelTitle, look: Look): readonly Row[] {
  const { state } = snapshot;
  const { ttft, itl } = state;
  return [
    { line: titleLine(title, look), weight: 1 },
    { line: barLine(snapshot, look), weight: 9 },
    { line: requestsLine(snapshot, look), weight: 5 },
    { line: tokensLine(snapshot, look), weight: 8 },
    { line: sparkLine(snapshot, look), weight: 3 },
    { line: latencyLine('TTFT', ttft, look), weight: 7 },
    { line: latencyLine('ITL', itl, look), weight: 6 },
    { line: errorsLine(snapshot, look), weight: state.failed > 0 ? 8.5 : 4 },
    { line: clientLine(snapshot, look), weight: state.clientLimit === null ? 2 : 5.5 },
  ];
}

function titleLine(title: PanelTitle, { glyphs }: Look): PanelLine {
  const [first = '', ...rest] = title.map((piece) => outside(piece, glyphs));
  return [span(first), span(rest.map((piece) => glyphs.separator + piece).join(''), 'dim')];
}

/** Share, count and times are pieces of constant width; the bar takes what they leave. */
function barLine(snapshot: PanelSnapshot, look: Look): PanelLine {
  const least = look.isMedium ? 12 : 5;
  const pieces: readonly Piece[] = [
    { line: [span(percentText(snapshot.share))], weight: 4 },
    { line: [span(countText(snapshot))], weight: 2 },
    { line: [span(leftText(snapshot))], weight: 3 },
    { line: [span(`${clockText(snapshot.state.elapsedMs, 'down')} so far`, 'dim')], weight: 1 },
  ];
  const kept = fittingPieces(pieces, look.columns - least - GAP, GAP);
  const right = joined(kept);
  const columns = look.columns - (kept.length === 0 ? 0 : columnsOf(plainText(right)) + GAP);
  const bar = barSpans(snapshot.share, Math.max(1, columns), look.glyphs);
  return kept.length === 0 ? bar : [...bar, span(' '.repeat(GAP)), ...right];
}

function percentText(share: number): string {
  return `${String(Math.floor(share * 100)).padStart(3)} %`;
}

function countText({ state }: PanelSnapshot): string {
  const planned = String(state.planned);
  return `${String(state.completed + state.failed).padStart(planned.length)} of ${planned}`;
}

function leftText({ state, leftMs }: PanelSnapshot): string {
  const text = leftMs !== null ? `${clockText(leftMs, 'up')} left` : state.isEnding ? 'ending' : '';
  return text.padStart(10);
}

function requestsLine({ state, requestsNow, requestsMean }: PanelSnapshot, look: Look): PanelLine {
  const digits = String(state.planned).length;
  return labelled('requests', look, [
    { line: [span(`${rateText(requestsNow)} /s${look.isMedium ? ' now' : ''}`)], weight: 3 },
    { line: [span(`${rateText(requestsMean)} /s mean`)], weight: 1 },
    { line: [span(`${String(state.inFlight).padStart(digits)} in flight`)], weight: 2 },
    { line: [span(`(${state.maxInFlight} at most)`.padEnd(digits + 10), 'dim')], weight: 0 },
  ]);
}

function tokensLine({ state, tokensNow, tokensMean }: PanelSnapshot, look: Look): PanelLine {
  const ratio = state.tokensPerFrame;
  return labelled('tokens', look, [
    { line: [span(`${rateText(tokensNow)} /s${look.isMedium ? ' now' : ''}`)], weight: 3 },
    { line: [span(`${rateText(tokensMean)} /s mean`)], weight: 2 },
    { line: [span(ratio === null ? '' : `${ratio.toFixed(2)} per frame`, 'dim')], weight: 0 },
  ]);
}

/** Cells stand for whole seconds, or for several where the window is narrow; borders stay where they are as time goes on. */
function sparkLine(snapshot: PanelSnapshot, look: Look): PanelLine {
  const { seconds, secondsEnd } = snapshot;
  const most = seconds.length === 0 ? null : Math.max(...seconds);
  const note = `  max ${rateText(most)} /s, last ${HISTORY_S} s`;
  const room = look.columns - labelColumns(look);
  const cells = Math.max(1, Math.min(HISTORY_S, look.isWide ? room - note.length : room));
  const perCell = Math.ceil(HISTORY_S / cells);
  const shown = Math.ceil(HISTORY_S / perCell);
  const lastCell = Math.ceil(secondsEnd / perCell) - 1;
  const values = Array.from({ length: shown }, (_, k) => {
    const from = (lastCell - shown + 1 + k) * perCell;
    const own = seconds.slice(
      Math.max(0, from - secondsEnd + seconds.length),
      Math.max(0, from + perCell - secondsEnd + seconds.length),
    );
    return own.length === 0 ? null : own.reduce((sum, value) => sum + value, 0) / own.length;
  });
  return [
    span(label('', look)),
    span(sparkText(values, look.glyphs), 'good'),
    ...(look.isWide ? [span(note, 'dim')] : []),
  ];
}

function latencyLine(name: string, latency: PanelLatency | null, look: Look): PanelLine {
  // The figures end where those of the rates end.
  const shift = look.isMedium ? '   ' : '';
  const at = (ms: number | undefined): string => shift + latencyText(ms ?? null);
  return labelled(name, look, [
    { line: [span(`${at(latency?.p50Ms)} p50`)], weight: 3 },
    { line: [span(`${at(latency?.p99Ms)} p99 `)], weight: 2 },
  ]);
}

function errorsLine({ state }: PanelSnapshot, look: Look): PanelLine {
  const { failed, planned, errors } = state;
  if (failed === 0) return labelled('errors', look, [{ line: [span('none', 'dim')], weight: 1 }]);
  const kinds = [...errors].toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  const total = look.isMedium ? String(failed).padStart(7) : String(failed).padStart(String(planned).length);
  return labelled('errors', look, [
    { line: [span(total, 'bad')], weight: 100 },
    ...kinds.map(([kind, count], k) => ({ line: [span(`${outside(kind, look.glyphs)} ${count}`)], weight: 99 - k })),
  ]);
}

function clientLine({ state }: PanelSnapshot, look: Look): PanelLine {
  const { clientLimit, loopMaxMs } = state;
  const delay: Piece = {
    line: [
      span(look.isMedium ? `event loop ${latencyText(loopMaxMs).trim()} late at most` : latencyText(loopMaxMs), 'dim'),
    ],
    weight: 1,
  };
  if (clientLimit === null) {
    return labelled('client', look, [
      { line: [span(look.isMedium ? 'not the limit so far' : 'ok')], weight: 2 },
      delay,
    ]);
  }
  const words = look.isMedium ? `MAY BE THE LIMIT: ${outside(clientLimit, look.glyphs)}` : 'THE LIMIT?';
  return labelled('client', look, [{ line: [span(words, 'bad')], weight: 2 }]);
}

/** All that matters most in one line. */
function oneLine(snapshot: PanelSnapshot, look: Look): PanelLine {
  const { state, share, tokensNow } = snapshot;
  const { failed, ttft, itl, inFlight, planned } = state;
  const pieces: readonly Piece[] = [
    { line: [span(percentText(share))], weight: 9 },
    { line: [span(countText(snapshot))], weight: 6 },
    ...(failed > 0 ? [{ line: [span(`${failed} failed`, 'bad')], weight: 8 }] : []),
    { line: [span(`${rateText(tokensNow)} tok/s`)], weight: 7 },
    { line: [span(`TTFT ${latencyText(ttft?.p50Ms ?? null)}`)], weight: 4 },
    { line: [span(`ITL ${latencyText(itl?.p50Ms ?? null)}`)], weight: 3 },
    { line: [span(`${String(inFlight).padStart(String(planned).length)} in flight`)], weight: 2 },
    { line: [span(leftText(snapshot))], weight: 5 },
  ];
  const gap = look.isMedium ? GAP : 1;
  return joined(fittingPieces(pieces, look.columns, gap), gap);
}

const NARROW_LABELS: Readonly<Record<string, string>> = { requests: 'req' };

function labelColumns({ isWide, isMedium }: Look): number {
  return isWide ? 10 : isMedium ? 8 : 7;
}

function label(text: string, look: Look): string {
  return (look.isMedium ? text : (NARROW_LABELS[text] ?? text)).padEnd(labelColumns(look));
}

function labelled(text: string, look: Look, pieces: readonly Piece[]): PanelLine {
  const columns = labelColumns(look);
  // The first figure is shown in any case; where it does not fit it is cut.
  const kept = fittingPieces(pieces, look.columns - columns, GAP);
  const shown = kept.length === 0 ? [(pieces[0] as Piece).line] : kept;
  return [span(label(text, look), 'dim'), ...joined(shown)];
}

function joined(pieces: readonly PanelLine[], gap = GAP): PanelLine {
  return pieces.flatMap((piece, k): readonly Span[] => (k === 0 ? piece : [span(' '.repeat(gap)), ...piece]));
}
