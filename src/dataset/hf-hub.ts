/**
 * A data set by its name on the Hugging Face hub: the Parquet files that the hub keeps of each, downloaded once into our cache
 * (`~/.cache/tabby-load/datasets`). The environment variables of Hugging Face's own tools are respected, as for tokenizers.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, messageOf, usageError } from '../errors.ts';
import { cacheHome, type Download, fetchDownload, hubAccess, isOffline } from './tokenizer-hub.ts';

const REMEDY =
  'Download its Parquet or JSON files and give the file or folder with --dataset-path and the name with --hf-name.';

/** Which part of which data set. */
export interface HubPart {
  readonly name: string;
  /** Null: the only one, or `default`. */
  readonly subset: string | null;
  readonly split: string;
}

/** The files of a part, in order. `env` and `download` are for tests. Throws a usage error when they cannot be had. */
export async function hubFiles(
  part: HubPart,
  env: NodeJS.ProcessEnv = process.env,
  download: Download = fetchDownload,
): Promise<readonly string[]> {
  const folder = join(
    cacheHome(env),
    'tabby-load',
    'datasets',
    part.name.replaceAll('/', '--'),
    part.subset ?? '_',
    part.split,
  );
  const cached = await filesIn(folder);
  if (cached.length > 0) return cached;
  if (isOffline(env)) {
    throw usageError(`--dataset-path: ${part.name} is in no cache, and HF_HUB_OFFLINE forbids downloading it`, REMEDY);
  }
  const { endpoint, headers } = await hubAccess(env);
  const get = async (url: string): Promise<Uint8Array> => {
    const { status, bytes } = await download(url, headers).catch((error: unknown) => {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      const reason = codeOf(cause) || messageOf(error);
      throw usageError(
        `--dataset-path: ${part.name} is no file or folder here, and ${endpoint} cannot be reached (${reason})`,
        REMEDY,
        error,
      );
    });
    if (status === 200) return bytes;
    const login =
      status === 401 || status === 403 ? ': there is no such data set, or it asks for a login (HF_TOKEN)' : '';
    throw usageError(`--dataset-path: ${endpoint} answered ${status} for ${part.name}${login}`, REMEDY);
  };
  const listing = await get(`${endpoint}/api/datasets/${part.name}/parquet`);
  const urls = urlsOf(part, Buffer.from(listing).toString('utf8'));
  const contents: Uint8Array[] = [];
  for (const url of urls) contents.push(await get(url));
  return store(folder, contents);
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => name.endsWith('.parquet'))
    .sort()
    .map((name) => join(folder, name));
}

/** The hub lists the URLs by subset and split. */
function urlsOf(part: HubPart, listing: string): readonly string[] {
  const subsets = parsed(part, listing);
  const names = Object.keys(subsets);
  const subset = part.subset ?? (names.includes('default') || names.length !== 1 ? 'default' : names[0]!);
  const splits = subsets[subset];
  if (splits === undefined) {
    throw usageError(`--hf-subset: ${part.name} has no subset ${subset}`, `It has ${names.join(', ')}.`);
  }
  const urls = splits[part.split];
  if (urls !== undefined && urls.length > 0) return urls;
  throw usageError(
    `--hf-split: ${part.name} has no split ${part.split} in ${subset}`,
    `It has ${Object.keys(splits).join(', ')}.`,
  );
}

function parsed(part: HubPart, listing: string): Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> {
  try {
    const value: unknown = JSON.parse(listing);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Record<string, Record<string, readonly string[]>>;
    }
  } catch {
    // Said below.
  }
  throw usageError(`--dataset-path: the hub's list of files of ${part.name} cannot be read`, REMEDY);
}

/** Writes into a folder beside the final one and renames it: the folder is there whole or not at all. */
async function store(folder: string, contents: readonly Uint8Array[]): Promise<readonly string[]> {
  const part = `${folder}.${randomBytes(6).toString('hex')}.part`;
  try {
    await mkdir(part, { recursive: true });
    for (const [i, bytes] of contents.entries())
      await writeFile(join(part, `${String(i).padStart(5, '0')}.parquet`), bytes);
    await rename(part, folder);
  } catch (error) {
    throw usageError(
      `--dataset-path: cannot write to the cache ${folder}: ${codeOf(error) || messageOf(error)}`,
      'Set XDG_CACHE_HOME to a folder that can be written.',
      error,
    );
  }
  return filesIn(folder);
}
