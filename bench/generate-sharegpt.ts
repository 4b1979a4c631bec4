/**
 * Makes a file with the size and shape of ShareGPT_V3_unfiltered_cleaned_split.json (673 MB, 94,145 conversations), which may not be
 * passed on: `node bench/dataset-run.mjs bench/generate-sharegpt.ts --out FILE [--conversations N] [--seed S] [--compact] [--utf8]`.
 *
 * The same seed gives the same bytes. Lengths follow heavy-tailed laws fitted to the published means of the real file (3.5 pairs of turns, 7.1 KB a conversation), text is
 * a mix of words by Zipf's law, code, Chinese, Japanese, Korean, Russian, Arabic and accented Latin, with numbers and identifiers that never
 * repeat, so that a tokenizer's cache is not flattered.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Mt19937 } from '../src/dataset/mt19937.ts';

/** What to make. */
export interface ShareGptShape {
  readonly conversations: number;
  readonly seed: number;
  /** One line without white space, in place of the real file's two spaces of indent. */
  readonly compact: boolean;
  /** Raw UTF-8 in place of Python's default, `\uXXXX` for all that is not ASCII (which Python itself reads in half the time and memory). */
  readonly utf8: boolean;
}

/** The real file's number of conversations. */
export const REAL_CONVERSATIONS = 94_145;

/** Makes the words and sentences of one file. */
class TextSource {
  readonly #mt = new Mt19937();
  readonly #words: readonly string[];
  readonly #sentences: readonly string[];

  constructor(seed: number) {
    this.#mt.initGenrand(seed);
    this.#words = Array.from({ length: 30_000 }, (_, i) => this.#makeWord(i));
    this.#sentences = Array.from({ length: 60_000 }, () => this.#makeSentence());
  }

  unit(): number {
    return this.#mt.next32() / 4294967296;
  }

  below(n: number): number {
    return Math.floor(this.unit() * n);
  }

  /** A length with the given median and spread (log-normal by the Box-Muller transform). */
  length(median: number, sigma: number): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.unit()));
    return Math.max(1, Math.round(median * Math.exp(sigma * radius * Math.cos(2 * Math.PI * this.unit()))));
  }

  /** Text of about `length` characters. */
  text(length: number): string {
    const parts: string[] = [];
    for (let made = 0; made < length; ) {
      const sentence = this.#sentences[this.below(this.#sentences.length)]!;
      const rare = this.unit() < 0.3 ? ` ${this.#identifier()}` : '';
      const gap = this.unit() < 0.2 ? '\n\n' : ' ';
      parts.push(sentence, rare, gap);
      made += sentence.length + rare.length + gap.length;
    }
    // A cut may halve a surrogate pair, which no UTF-8 file can hold.
    return parts
      .join('')
      .slice(0, length)
      .replace(/[\ud800-\udfff]/gu, '')
      .trimEnd();
  }

  #identifier(): string {
    const n = this.#mt.next32();
    const forms = [
      `id_${n.toString(36)}`,
      `${n % 100_000}.${n % 97}`,
      `0x${n.toString(16)}`,
      `"${n.toString(26)}"`,
      `C:\\dir\\${n % 9999}`,
    ];
    return forms[n % forms.length]!;
  }

  #makeWord(rank: number): string {
    const syllables =
      'the of and to in is you that it he was for on are as with his they at be this from have or by one had not but what all were when we there can an your which their said if do will each about how up out them then she many some so would other into has more two like him see time could no make than first been its who now people my made over did down only way find use may water long little very after words called just where most know'.split(
        ' ',
      );
    if (rank < syllables.length) return syllables[rank]!;
    const parts =
      'con ver sa tion al ly re pre ment ing er est able un dis com pro ta ble ma chi ne lo gic pa ra me ter fun ny sys tem data mod el en co der lay out put'.split(
        ' ',
      );
    return Array.from({ length: 2 + this.below(3) }, () => parts[this.below(parts.length)]!).join('');
  }

  #zipfWord(): string {
    return this.#words[Math.floor(this.#words.length ** this.unit()) - 1]!;
  }

  #makeSentence(): string {
    const kind = this.unit();
    if (kind < 0.78) {
      const words = Array.from({ length: 6 + this.below(18) }, () => this.#zipfWord());
      return `${words.join(' ').replace(/^./, (c) => c.toUpperCase())}${'.,?!:;'[this.below(6)]}`;
    }
    if (kind < 0.87) {
      const [a, b, c] = [this.#zipfWord(), this.#zipfWord(), this.#zipfWord()];
      return `\`\`\`\n    if (${a} !== "${b}") {\n\t\treturn ${c}(${this.below(1000)});\n    }\n\`\`\``;
    }
    const ranges = [
      [0x4e00, 3000],
      [0x4e00, 3000],
      [0x3041, 86],
      [0xac00, 2000],
      [0x430, 32],
      [0x627, 28],
      [0xe0, 31],
      [0x1f600, 60],
    ] as const;
    const [first, count] = ranges[this.below(ranges.length)]!;
    const spaced = first !== 0x4e00 && first !== 0x3041;
    return Array.from({ length: 12 + this.below(30) }, (_, i) =>
      spaced && i % 6 === 5 ? ' ' : String.fromCodePoint(first + this.below(count)),
    ).join('');
  }
}

/** The file in chunks, one conversation each. */
export function* shareGptChunks(shape: ShareGptShape): Generator<string> {
  const source = new TextSource(shape.seed);
  for (let i = 0; i < shape.conversations; i++) {
    const id = `${Math.floor(source.unit() * 36 ** 7)
      .toString(36)
      .padStart(7, 'A')}_${i % 7}`;
    const raw = JSON.stringify({ id, conversations: makeTurns(source) }, null, shape.compact ? 0 : 2);
    const json = shape.utf8 ? raw : raw.replace(/[\u007f-\uffff]/g, escapeUnit);
    const first = i === 0;
    if (shape.compact) yield (first ? '[' : ',') + json;
    else yield (first ? '[\n  ' : ',\n  ') + json.replaceAll('\n', '\n  ');
  }
  yield shape.conversations === 0 ? '[]' : shape.compact ? ']' : '\n]';
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Turns of one conversation: a few percent have none or one, as in the real file. */
function makeTurns(source: TextSource): { from: string; value: string }[] {
  const kind = source.unit();
  const turns = kind < 0.01 ? 0 : kind < 0.05 ? 1 : 2 * Math.min(60, Math.ceil(-3.6 * Math.log(1 - source.unit())));
  const startsWithGpt = source.unit() < 0.25;
  return Array.from({ length: turns }, (_, t) =>
    (t % 2 === 0) !== startsWithGpt
      ? { from: 'human', value: source.text(source.length(130, 1.5)) }
      : { from: 'gpt', value: source.text(source.length(652, 0.9)) },
  );
}

/** Writes the file; returns its size in bytes. */
export function writeShareGpt(path: string, shape: ShareGptShape): number {
  const file = openSync(path, 'w');
  let size = 0;
  let held = '';
  for (const chunk of shareGptChunks(shape)) {
    held += chunk;
    if (held.length < 4 * 1024 * 1024) continue;
    size += writeSync(file, held);
    held = '';
  }
  size += writeSync(file, held);
  closeSync(file);
  return size;
}

/** Reads the command line and writes the file. */
export function main(args: readonly string[]): void {
  const { values } = parseArgs({
    args: [...args],
    options: {
      out: { type: 'string' },
      conversations: { type: 'string', default: String(REAL_CONVERSATIONS) },
      seed: { type: 'string', default: '1' },
      compact: { type: 'boolean', default: false },
      utf8: { type: 'boolean', default: false },
    },
  });
  if (values.out === undefined) throw new Error('--out FILE is needed');
  const shape: ShareGptShape = {
    conversations: Number(values.conversations),
    seed: Number(values.seed),
    compact: values.compact,
    utf8: values.utf8,
  };
  const size = writeShareGpt(values.out, shape);
  process.stdout.write(`${values.out}: ${shape.conversations} conversations, ${(size / 1e6).toFixed(1)} MB\n`);
}

if (process.argv[1]?.includes('bench') && process.argv.includes('--out')) main(process.argv.slice(2));
