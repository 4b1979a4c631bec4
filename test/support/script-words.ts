/**
 * Scripts for the scripted server in a few words: `head; 5 tokens; reset`. Phrases are separated by semicolons and carried out in order:
 *
 * | phrase | meaning |
 * |---|---|
 * | `head`, `head NAME: VALUE` | head of a streaming answer, with a further or another header |
 * | `gzip head` | the same, and from here on the body is compressed |
 * | `3 tokens`, `3 tokens every 20` | token frames; pause before each in ms |
 * | `forever MS: TEXT` | an event or comment every so many ms until the client leaves |
 * | `finish 7`, `finish 7 stop` | finish reason and usage of so many tokens |
 * | `done`, `last` | `[DONE]`; the last chunk |
 * | `chunk TEXT`, `raw TEXT` | a chunk with this text, or bytes past all framing; `\r`, `\n`, `\0`, `\xHH` are escapes |
 * | `big N` | an event of N bytes |
 * | `status 503 Reason: BODY`, `status 429 Reason, NAME: VALUE: BODY` | a whole answer with a length |
 * | `wait 20`, `close`, `reset`, `hang` | ms; FIN; RST; nothing more |
 */
import { constants, createGzip, type Gzip } from 'node:zlib';
import { DONE, finish, LAST_CHUNK, type Reply, type Script, STREAM_HEAD, token } from './scripted-server.ts';

/** What is carried from phrase to phrase. */
interface Play {
  readonly reply: Reply;
  gzip: Gzip | null;
}

type Phrase = (play: Play, ...words: string[]) => Promise<void> | void;

const PHRASES: readonly (readonly [RegExp, Phrase])[] = [
  [/^head$/, ({ reply }) => reply.send(STREAM_HEAD)],
  [/^head (.+)$/, ({ reply }, header) => reply.send(headWith(header as string))],
  [
    /^gzip head$/,
    (play) => {
      play.gzip = createGzip();
      return play.reply.send(headWith('content-encoding: gzip'));
    },
  ],
  [/^(\d+) tokens?(?: every (\d+))?$/, (play, count, pause) => tokens(play, Number(count), Number(pause ?? 0))],
  [/^forever (\d+): (.+)$/, (play, pause, text) => forever(play, Number(pause), unescaped(text as string))],
  [/^finish (\d+)(?: (\w+))?$/, (play, count, reason) => body(play, finish(Number(count), reason ?? 'length'))],
  [/^done$/, (play) => body(play, DONE)],
  [/^last$/, (play) => last(play)],
  [/^chunk (.*)$/, (play, text) => body(play, unescaped(text as string))],
  [/^raw (.*)$/, ({ reply }, text) => reply.send(Buffer.from(unescaped(text as string), 'latin1'))],
  [/^big (\d+)$/, (play, bytes) => body(play, `data: {"filler": "${'x'.repeat(Number(bytes))}"}\r\n\r\n`)],
  [
    /^status (\d+) ([^:,]*)(?:, ([\w-]+: [^:]+))?: (.*)$/,
    ({ reply }, status, reason, header, text) =>
      reply.send(answer(`${status} ${reason}`, header, unescaped(text as string))),
  ],
  [/^wait (\d+)$/, ({ reply }, ms) => reply.wait(Number(ms))],
  [/^close$/, ({ reply }) => reply.close()],
  [/^reset$/, ({ reply }) => reply.reset()],
  [/^hang$/, () => undefined],
];

/** The script that the words stand for. Throws at once when they are not understood. */
export function script(words: string): Script {
  const steps = words.split(/;\s*/).map((text) => {
    for (const [pattern, phrase] of PHRASES) {
      const match = pattern.exec(text);
      if (match !== null) return (play: Play) => phrase(play, ...match.slice(1));
    }
    throw new Error(`no such phrase: ${text}`);
  });
  return async (reply) => {
    const play: Play = { reply, gzip: null };
    for (const step of steps) await step(play);
  };
}

function headWith(header: string): string {
  const [name = ''] = header.split(':');
  const others = STREAM_HEAD.trim()
    .split('\r\n')
    .filter((line) => !line.startsWith(`${name}:`));
  return `${[...others, header].join('\r\n')}\r\n\r\n`;
}

function answer(status: string, header: string | undefined, text: string): string {
  const type = text.startsWith('{') ? 'application/json' : text.startsWith('<') ? 'text/html' : 'text/plain';
  const more = header === undefined ? '' : `${header}\r\n`;
  return `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\n${more}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

async function body({ reply, gzip }: Play, text: string): Promise<void> {
  if (gzip === null) await reply.chunk(text);
  else await binaryChunk(reply, await compressed(gzip, text));
}

/** One chunk holds what the compressor has to say about this text. */
function compressed(gzip: Gzip, text: string): Promise<Buffer> {
  return new Promise((resolve) => {
    gzip.write(text);
    gzip.flush(constants.Z_SYNC_FLUSH, () => resolve((gzip.read() as Buffer | null) ?? Buffer.alloc(0)));
  });
}

async function binaryChunk(reply: Reply, bytes: Buffer): Promise<void> {
  await reply.send(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]));
}

async function last({ reply, gzip }: Play): Promise<void> {
  if (gzip !== null) {
    const rest = new Promise<Buffer>((resolve) => {
      const parts: Buffer[] = [];
      gzip.on('data', (part: Buffer) => parts.push(part)).on('end', () => resolve(Buffer.concat(parts)));
    });
    gzip.end();
    await binaryChunk(reply, await rest);
  }
  await reply.send(LAST_CHUNK);
}

async function tokens(play: Play, count: number, pauseMs: number): Promise<void> {
  for (let i = 0; i < count && play.reply.isOpen; i++) {
    if (pauseMs > 0) await play.reply.wait(pauseMs);
    await body(play, token());
  }
}

async function forever(play: Play, pauseMs: number, text: string): Promise<void> {
  while (play.reply.isOpen) {
    await body(play, text);
    await play.reply.wait(pauseMs);
  }
}

function unescaped(text: string): string {
  return text
    .replaceAll('\\r', '\r')
    .replaceAll('\\n', '\n')
    .replaceAll('\\0', '\0')
    .replace(/\\x([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
