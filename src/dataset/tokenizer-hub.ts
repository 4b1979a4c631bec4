/**
 * A tokenizer by its name on the Hugging Face hub (`org/name`): found in a cache, else downloaded into our own. The environment variables of
 * Hugging Face's own tools are respected: HF_HOME, HF_HUB_CACHE, HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE.
 */
import { randomBytes } from 'node:crypto';
import { access, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { codeOf, messageOf, usageError } from '../errors.ts';
import { TOKENIZER_FILE_NAMES } from './tokenizer-files.ts';

/** A download: status and bytes; throws when there is no answer at all. */
export type Download = (
  url: string,
  headers: Readonly<Record<string, string>>,
) => Promise<{ readonly status: number; readonly bytes: Uint8Array }>;

/** A file may take this long; a hub that does not answer at all is given up by the socket well before. */
const DOWNLOAD_TIMEOUT_MS = 120_000;

const REMEDY =
  "Give a local folder with --tokenizer FOLDER, or leave --tokenizer out to use the server's own (TabbyAPI).";

/**
 * A folder with the tokenizer's files. Looked for in Hugging Face's cache, then in ours (`~/.cache/tabby-load`, kept until deleted), then on
 * the hub. `env` and `download` are for tests.
 */
export async function hubTokenizerFolder(
  name: string,
  env: NodeJS.ProcessEnv = process.env,
  download: Download = fetchDownload,
): Promise<string> {
  const cached = (await huggingFaceFolder(name, env)) ?? (await existing(ownFolder(name, env)));
  if (cached !== null) return cached;
  if (isOffline(env)) {
    throw usageError(`--tokenizer: ${name} is in no cache, and HF_HUB_OFFLINE forbids downloading it`, REMEDY);
  }
  const files = await downloadAll(name, env, download);
  return store(ownFolder(name, env), files);
}

/** Where programs keep their caches. */
export function cacheHome(env: NodeJS.ProcessEnv): string {
  return env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache');
}

function huggingFaceHome(env: NodeJS.ProcessEnv): string {
  return env['HF_HOME'] || join(cacheHome(env), 'huggingface');
}

function ownFolder(name: string, env: NodeJS.ProcessEnv): string {
  return join(cacheHome(env), 'tabby-load', 'tokenizers', name.replaceAll('/', '--'));
}

/** The snapshot of the main branch in the cache of `huggingface_hub`; null when it is not there. */
async function huggingFaceFolder(name: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  const hub = env['HF_HUB_CACHE'] || env['HUGGINGFACE_HUB_CACHE'] || join(huggingFaceHome(env), 'hub');
  const model = join(hub, `models--${name.replaceAll('/', '--')}`);
  const commit = (await readFile(join(model, 'refs', 'main'), 'utf8').catch(() => '')).trim();
  return commit === '' ? null : existing(join(model, 'snapshots', commit));
}

/** The folder when it holds a tokenizer.json. */
async function existing(folder: string): Promise<string | null> {
  return access(join(folder, 'tokenizer.json')).then(
    () => folder,
    () => null,
  );
}

async function downloadAll(name: string, env: NodeJS.ProcessEnv, download: Download): Promise<Map<string, Uint8Array>> {
  const { endpoint, headers } = await hubAccess(env);
  const files = new Map<string, Uint8Array>();
  for (const file of TOKENIZER_FILE_NAMES) {
    const url = `${endpoint}/${name}/resolve/main/${file}`;
    const { status, bytes } = await download(url, headers).catch((error: unknown) => {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      const reason = codeOf(cause) || messageOf(error);
      throw usageError(
        `--tokenizer: ${name} is no folder here, and ${endpoint} cannot be reached (${reason})`,
        REMEDY,
        error,
      );
    });
    if (status === 200) files.set(file, bytes);
    else if (file === 'tokenizer.json' || status !== 404) throw refusal(name, endpoint, file, status);
  }
  return files;
}

function refusal(name: string, endpoint: string, file: string, status: number): Error {
  if (status === 401 || status === 403) {
    return usageError(
      `--tokenizer: ${endpoint} does not give out ${name} (${status}): there is no such model, or it asks for a login`,
      'Check the name; for a gated model put a token that may read it into HF_TOKEN.',
    );
  }
  if (status === 404)
    return usageError(`--tokenizer: ${endpoint} has no ${file} for ${name} (404)`, `Check the name. ${REMEDY}`);
  return usageError(`--tokenizer: ${endpoint} answered ${status} for ${file} of ${name}`, `Try again later. ${REMEDY}`);
}

/** Writes the files, `tokenizer.json` last and each one whole, since its presence says that the folder is complete. */
async function store(folder: string, files: ReadonlyMap<string, Uint8Array>): Promise<string> {
  try {
    await mkdir(folder, { recursive: true });
    for (const [name, bytes] of [...files].reverse()) {
      const part = join(folder, `${name}.${randomBytes(6).toString('hex')}.part`);
      await writeFile(part, bytes);
      await rename(part, join(folder, name));
    }
  } catch (error) {
    throw usageError(
      `--tokenizer: cannot write to the cache ${folder}: ${codeOf(error) || messageOf(error)}`,
      'Set XDG_CACHE_HOME to a folder that can be written.',
      error,
    );
  }
  return folder;
}

/** Has the user forbidden downloads by a variable of Hugging Face's tools? */
export function isOffline(env: NodeJS.ProcessEnv): boolean {
  return isSet(env['HF_HUB_OFFLINE']) || isSet(env['TRANSFORMERS_OFFLINE']);
}

/** Where the hub is, and the headers of a request to it: the user's token, when there is one. */
export async function hubAccess(
  env: NodeJS.ProcessEnv,
): Promise<{ readonly endpoint: string; readonly headers: Readonly<Record<string, string>> }> {
  const endpoint = (env['HF_ENDPOINT'] || 'https://huggingface.co').replace(/\/+$/, '');
  const token = env['HF_TOKEN'] || (await readFile(join(huggingFaceHome(env), 'token'), 'utf8').catch(() => '')).trim();
  return { endpoint, headers: token === '' ? {} : { authorization: `Bearer ${token}` } };
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && !['', '0', 'false', 'no', 'off'].includes(value.toLowerCase());
}

/** A download by Node's own fetch. */
export const fetchDownload: Download = async (url, headers) => {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS) });
  return { status: response.status, bytes: new Uint8Array(await response.arrayBuffer()) };
};
