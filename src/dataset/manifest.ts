/**
 * The sample manifest: one line for each request, by which two runs can be shown to have sent the same prompts
 * (`--samples-out`, `TABBY_SAMPLES_OUT`, `tabby-load samples`).
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { codeOf, messageOf, usageError } from '../errors.ts';
import { PYTHON_DEFAULT, type PyJson, pythonJson } from '../python-json.ts';
import type { Prompt, SampleRequest } from './sample.ts';

/** First line of every manifest. */
export const MANIFEST_HEADER = 'i\tsha\tprompt_len\toutput_len\n';

/** Lines are handed on in chunks of about this many characters: few writes, and never a huge string. */
const CHUNK_CHARS = 64 * 1024;

/** What is known of a manifest once it has been written. */
export interface ManifestSummary {
  /** SHA-256 of the whole manifest, in hex: equal for equal samples in equal order. */
  readonly sha256: string;
  /** Lines below the header. */
  readonly count: number;
}

/**
 * First 16 hex digits of the SHA-256 of a prompt: of its UTF-8 bytes when it is a text, of its Python
 * `json.dumps(prompt, sort_keys=True)` when it is a list. Half a surrogate pair in a text counts as U+FFFD (Python cannot hash it).
 */
export function promptHash(prompt: Prompt): string {
  const text =
    typeof prompt === 'string'
      ? prompt
      : pythonJson(prompt as unknown as PyJson, { ...PYTHON_DEFAULT, sortKeys: true });
  return createHash('sha256').update(text, 'utf8').digest('hex').slice(0, 16);
}

/** The manifest in chunks of whole lines, the header first. */
export function* manifestChunks(samples: readonly SampleRequest[]): Generator<string> {
  // Oversampling repeats prompts; hashing them again could take longer than the sampling.
  const hashes = new Map<Prompt, string>();
  let chunk = MANIFEST_HEADER;
  for (const [i, sample] of samples.entries()) {
    let hash = hashes.get(sample.prompt);
    if (hash === undefined) {
      hash = promptHash(sample.prompt);
      hashes.set(sample.prompt, hash);
    }
    chunk += `${i}\t${hash}\t${sample.promptLen}\t${sample.outputLen}\n`;
    if (chunk.length >= CHUNK_CHARS) {
      yield chunk;
      chunk = '';
    }
  }
  if (chunk !== '') yield chunk;
}

/** Writes the manifest to `sink`, chunk by chunk (no sink: only the digest is wanted). */
export async function writeManifest(
  samples: readonly SampleRequest[],
  sink?: (chunk: string) => void | Promise<void>,
): Promise<ManifestSummary> {
  const digest = createHash('sha256');
  for (const chunk of manifestChunks(samples)) {
    digest.update(chunk, 'utf8');
    await sink?.(chunk);
  }
  return { sha256: digest.digest('hex'), count: samples.length };
}

/**
 * Opens the file for the manifest, so that a path that cannot be written is found before any work is done; what the file held stays
 * until {@link saveManifest}. `optionName` is how the user gave it. The caller closes it.
 */
export async function openManifest(path: string, optionName: string): Promise<FileHandle> {
  try {
    return await open(path, 'a');
  } catch (error) {
    const why = { ENOENT: 'its folder does not exist', EACCES: 'permission denied', EISDIR: 'it is a folder' }[
      codeOf(error)
    ];
    throw usageError(
      `${optionName}: cannot write ${path}: ${why ?? codeOf(error)}`,
      'Give the path of a file that can be written.',
      error,
    );
  }
}

/** Puts the manifest in place of what the opened file held, and closes it. Throws a usage error (a full disk, say). */
export async function saveManifest(file: FileHandle, samples: readonly SampleRequest[]): Promise<ManifestSummary> {
  try {
    // A pipe or terminal has nothing to cut.
    if ((await file.stat()).isFile()) await file.truncate(0);
    return await writeManifest(samples, async (chunk) => {
      await file.writeFile(chunk, 'utf8');
    });
  } catch (error) {
    throw usageError(
      `--samples-out: the manifest cannot be written: ${messageOf(error)}`,
      'Choose a place with room for it.',
      error,
    );
  } finally {
    await file.close().catch(() => undefined);
  }
}
