/** Opens whichever tokenizer the user asked for. The libraries come along only when a local one is opened. */
import { stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { usageError } from '../errors.ts';
import type { TokenCounter } from './tokenizer.ts';
import { openServerTokenizer, type ServerTokenizerSpec } from './tokenizer-server.ts';

/** Which tokenizer. */
export type TokenizerSpec =
  /** A local folder with `tokenizer.json`. */
  | { readonly kind: 'folder'; readonly path: string }
  /** A name on the Hugging Face hub. */
  | { readonly kind: 'hub'; readonly name: string }
  /** The server's own (TabbyAPI). */
  | ({ readonly kind: 'server' } & ServerTokenizerSpec)
  /** `--skip-tokenizer-init`. */
  | { readonly kind: 'none' };

/** A hub name: one or two parts of letters, digits, `_`, `-` and `.`, none of them only dots. */
const HUB_NAME = /^(?!\.+(\/|$))[\w.-]+(\/(?!\.+$)[\w.-]+)?$/;

/**
 * What `--tokenizer VALUE` means: a folder when there is one of that name (or a `tokenizer.json` in it was named), else a hub name when it
 * can be one. Throws a usage error otherwise.
 */
export async function recogniseTokenizer(value: string): Promise<TokenizerSpec> {
  const found = await stat(value).catch(() => null);
  if (found?.isDirectory()) return { kind: 'folder', path: value };
  if (found !== null && basename(value) === 'tokenizer.json') return { kind: 'folder', path: dirname(value) };
  if (found !== null) throw usageError(`--tokenizer: ${value} is a file`, 'Give the folder that holds tokenizer.json.');
  if (HUB_NAME.test(value)) return { kind: 'hub', name: value };
  throw usageError(
    `--tokenizer: the folder ${value} does not exist`,
    "Give a folder with a tokenizer.json, a name on the Hugging Face hub (org/name), or leave it out to use the server's own (TabbyAPI).",
  );
}

/** Opens it; null for `none`. The caller closes it. Throws AppError when it cannot be had. */
export async function openTokenizer(spec: TokenizerSpec): Promise<TokenCounter | null> {
  switch (spec.kind) {
    case 'none':
      return null;
    case 'server':
      return openServerTokenizer(spec);
    case 'folder':
      return (await import('./tokenizer-local.ts')).openLocalTokenizer(spec.path, spec.path);
    case 'hub': {
      const { hubTokenizerFolder } = await import('./tokenizer-hub.ts');
      const folder = await hubTokenizerFolder(spec.name);
      return (await import('./tokenizer-local.ts')).openLocalTokenizer(folder, spec.name);
    }
  }
}
