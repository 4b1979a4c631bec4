/** Reads the files of a tokenizer folder as Hugging Face lays them out. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, messageOf, usageError } from '../errors.ts';
import { bpeModelOf } from './bpe-model.ts';
import type { BpeTables } from './bpe-reader.ts';
import { splitterOf } from './piece-encoder.ts';
import { scanTokenizer } from './tokenizer-scan.ts';

/** The parsed files of a tokenizer. */
export interface TokenizerFiles {
  /** `tokenizer.json`: vocabulary, merges, rules. */
  readonly tokenizer: TokenizerJson;
  /** The vocabulary and merges of a byte-level BPE, which are then empty in `tokenizer`; null for all other tokenizers. */
  readonly tables: BpeTables | null;
  /** `tokenizer_config.json`; empty when there is none. */
  readonly config: Readonly<Record<string, unknown>>;
  /** The chat template's Jinja source: `chat_template.jinja` if there, else from the config; null when there is none. */
  readonly chatTemplate: string | null;
}

/** The parts of `tokenizer.json` that are looked at here. */
export interface TokenizerJson {
  readonly model: { readonly type?: string; readonly vocab: Readonly<Record<string, number>> | readonly unknown[] };
  readonly normalizer?: Readonly<Record<string, unknown>> | null;
  readonly pre_tokenizer: Readonly<Record<string, unknown>> | null;
  readonly decoder: Readonly<Record<string, unknown>> | null;
  readonly added_tokens: readonly { readonly id: number; readonly content: string; readonly special?: boolean }[];
}

/** Names of the files that make a tokenizer; only the first is needed. */
export const TOKENIZER_FILE_NAMES = ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'] as const;

/** Reads a folder. `option` names what the user gave, for messages. Throws a usage error. */
export async function readTokenizerFiles(folder: string, option: string): Promise<TokenizerFiles> {
  const path = join(folder, 'tokenizer.json');
  const scanned = scanByteLevel(path);
  const tokenizer = scanned?.json ?? (await parseTokenizer(path, folder, option));
  const configPath = join(folder, 'tokenizer_config.json');
  const configSource = await readText(configPath);
  const config = configSource === null ? {} : parse(configSource, configPath, option);
  const jinja = await readText(join(folder, 'chat_template.jinja'));
  return {
    tokenizer: { ...tokenizer, added_tokens: tokenizer.added_tokens ?? [] },
    tables: scanned?.tables ?? null,
    config,
    chatTemplate: jinja ?? templateOf(config['chat_template']),
  };
}

/** Null for a file that is to be parsed as a whole: no byte-level BPE, or not a right one. */
function scanByteLevel(path: string): { readonly json: TokenizerJson; readonly tables: BpeTables } | null {
  const scanned = scanTokenizer(path, (json, isWhole) =>
    isByteLevel(isWhole ? (json as TokenizerJson) : completed(json as Partial<TokenizerJson>)),
  );
  return scanned as { json: TokenizerJson; tables: BpeTables } | null;
}

/** Everything that is not there yet may still come out right. */
function completed(json: Partial<TokenizerJson>): TokenizerJson {
  const level = { type: 'ByteLevel' };
  const model = { type: 'BPE', merges: [], vocab: {}, ...json.model };
  return { pre_tokenizer: level, decoder: level, added_tokens: [], ...json, model };
}

/** Can all be done that this tokenizer does with its vocabulary without the library? Throws what the library throws. */
function isByteLevel(json: TokenizerJson): boolean {
  return bpeModelOf(json) !== null && json.decoder?.['type'] === 'ByteLevel' && splitterOf(json.pre_tokenizer) !== null;
}

async function parseTokenizer(path: string, folder: string, option: string): Promise<TokenizerJson> {
  const source = await readText(path);
  if (source === null) throw await noTokenizerJson(folder, option);
  const tokenizer = parse(source, path, option) as unknown as TokenizerJson;
  if (typeof tokenizer.model?.vocab === 'object') return tokenizer;
  throw usageError(`${option}: ${path} holds no vocabulary`, 'Is it a tokenizer.json of Hugging Face?');
}

async function noTokenizerJson(folder: string, option: string): Promise<Error> {
  const hint = 'Give the folder of a model that has a tokenizer.json, as on Hugging Face.';
  const found = await stat(folder).catch(() => null);
  if (found === null) return usageError(`${option}: the folder ${folder} does not exist`, hint);
  const model = await stat(join(folder, 'tokenizer.model')).catch(() => null);
  if (model === null) return usageError(`${option}: there is no tokenizer.json in ${folder}`, hint);
  return usageError(
    `${option}: ${folder} has a tokenizer.model, but no tokenizer.json`,
    'Convert it: in Python, AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER) writes a tokenizer.json.',
  );
}

async function readText(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes(codeOf(error))) return null;
    throw usageError(`--tokenizer: ${path} cannot be read: ${messageOf(error)}`, '', error);
  }
}

function parse(source: string, path: string, option: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(source);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below, with the remedy.
  }
  throw usageError(
    `${option}: ${path} is not a JSON object`,
    'It may be cut off, or a Git LFS pointer: get the file again.',
  );
}

/** `chat_template` is a text, or a list of named ones, of which `default` is taken. */
function templateOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return null;
  const named = value as readonly { name?: unknown; template?: unknown }[];
  const chosen = named.find((entry) => entry.name === 'default');
  return typeof chosen?.template === 'string' ? chosen.template : null;
}
