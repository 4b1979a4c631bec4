import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Download, hubTokenizerFolder } from '../../src/dataset/tokenizer-hub.ts';
import { openTokenizer, recogniseTokenizer } from '../../src/dataset/tokenizer-open.ts';
import { modelFolder, scratchFile, scratchFolder } from './support.ts';

const NAME = 'org/model-1.5';

function put(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  scratchFile(dirname(path), path.slice(dirname(path).length + 1), content);
}

/** A hub that has `files`, else answers `status`; notes what was asked. */
function hub(files: Record<string, string>, status = 404) {
  const asked: { url: string; headers: Readonly<Record<string, string>> }[] = [];
  const download: Download = async (url, headers) => {
    asked.push({ url, headers });
    const content = files[url.split('/').at(-1)!];
    return { status: content === undefined ? status : 200, bytes: Buffer.from(content ?? 'no') };
  };
  return { asked, download };
}

const noDownload: Download = () => Promise.reject(new Error('must not be asked'));

describe('a tokenizer by hub name', () => {
  it('is downloaded once and kept, the template too when there is one', async () => {
    const home = scratchFolder();
    const { asked, download } = hub({ 'tokenizer.json': '{"a": 1}', 'tokenizer_config.json': '{}' });
    const folder = await hubTokenizerFolder(NAME, { HOME: home }, download);
    expect(folder).toBe(join(home, '.cache/tabby-load/tokenizers/org--model-1.5'));
    expect(readdirSync(folder).sort()).toEqual(['tokenizer.json', 'tokenizer_config.json']);
    expect(readFileSync(join(folder, 'tokenizer.json'), 'utf8')).toBe('{"a": 1}');
    expect(asked.map(({ url }) => url)).toEqual(
      ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'].map(
        (file) => `https://huggingface.co/org/model-1.5/resolve/main/${file}`,
      ),
    );
    expect(asked[0]?.headers).toEqual({});
    expect(await hubTokenizerFolder(NAME, { HOME: home }, noDownload)).toBe(folder);
  });

  it('is taken from the cache of Hugging Face when it is there, wherever that is', async () => {
    for (const [where, env] of [
      ['.cache/huggingface/hub', (home: string) => ({ HOME: home })],
      ['hf/hub', (home: string) => ({ HOME: home, HF_HOME: join(home, 'hf') })],
      ['elsewhere', (home: string) => ({ HOME: home, HF_HUB_CACHE: join(home, 'elsewhere') })],
      ['xdg/huggingface/hub', (home: string) => ({ HOME: home, XDG_CACHE_HOME: join(home, 'xdg') })],
    ] as const) {
      const home = scratchFolder();
      const model = join(home, where, 'models--org--model-1.5');
      put(join(model, 'refs/main'), 'abc123\n');
      await expect(hubTokenizerFolder(NAME, { ...env(home), HF_HUB_OFFLINE: '1' }, noDownload)).rejects.toThrow(
        'in no cache',
      );
      put(join(model, 'snapshots/abc123/tokenizer.json'), '{}');
      expect(await hubTokenizerFolder(NAME, env(home), noDownload)).toBe(join(model, 'snapshots/abc123'));
    }
  });

  it('uses HF_TOKEN, or the token that was stored by a login, and HF_ENDPOINT', async () => {
    const home = scratchFolder();
    const given = hub({ 'tokenizer.json': '{}' });
    await hubTokenizerFolder(NAME, { HOME: home, HF_TOKEN: 'T', HF_ENDPOINT: 'http://mirror/x/' }, given.download);
    expect(given.asked[0]).toEqual({
      url: 'http://mirror/x/org/model-1.5/resolve/main/tokenizer.json',
      headers: { authorization: 'Bearer T' },
    });
    put(join(home, '.cache/huggingface/token'), 'stored\n');
    const stored = hub({ 'tokenizer.json': '{}' });
    await hubTokenizerFolder('gpt2', { HOME: home }, stored.download);
    expect(stored.asked[0]?.headers).toEqual({ authorization: 'Bearer stored' });
  });

  it.each([
    [404, /has no tokenizer\.json for org\/model-1\.5 \(404\)$/],
    [401, /does not give out org\/model-1\.5 \(401\)/],
    [403, /does not give out org\/model-1\.5 \(403\)/],
    [500, /answered 500 for tokenizer\.json of org\/model-1\.5$/],
  ])('says what a status of %i means, and keeps nothing', async (status, message) => {
    const home = scratchFolder();
    const failing = hubTokenizerFolder(NAME, { HOME: home }, hub({}, status).download);
    await expect(failing).rejects.toMatchObject({ exitCode: 2, message: expect.stringMatching(message) });
    expect(readdirSync(home)).toEqual([]);
  });

  it('keeps nothing when the download breaks off half-way, so that the next try starts anew', async () => {
    const home = scratchFolder();
    const { download } = hub({ 'tokenizer.json': '{}' });
    const breaking: Download = (url, headers) =>
      url.endsWith('config.json')
        ? Promise.reject(new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ENOTFOUND' }) }))
        : download(url, headers);
    await expect(hubTokenizerFolder(NAME, { HOME: home }, breaking)).rejects.toMatchObject({
      exitCode: 2,
      message: '--tokenizer: org/model-1.5 is no folder here, and https://huggingface.co cannot be reached (ENOTFOUND)',
      hint: expect.stringContaining('--tokenizer FOLDER'),
    });
    expect(readdirSync(home)).toEqual([]);
  });

  it('says when the cache cannot be written', async () => {
    const home = scratchFolder();
    put(join(home, '.cache'), 'a file');
    await expect(hubTokenizerFolder(NAME, { HOME: home }, hub({ 'tokenizer.json': '{}' }).download)).rejects.toThrow(
      /cannot write to the cache .*(ENOTDIR|EEXIST)/,
    );
  });
});

describe('--tokenizer VALUE', () => {
  it('is a folder when there is one, else a hub name when it can be one', async () => {
    const folder = modelFolder('qwen3');
    expect(await recogniseTokenizer(folder)).toEqual({ kind: 'folder', path: folder });
    expect(await recogniseTokenizer(join(folder, 'tokenizer.json'))).toEqual({ kind: 'folder', path: folder });
    expect(await recogniseTokenizer('Qwen/Qwen3-8B')).toEqual({ kind: 'hub', name: 'Qwen/Qwen3-8B' });
    expect(await recogniseTokenizer('gpt2')).toEqual({ kind: 'hub', name: 'gpt2' });
  });
  it.each(['./none', '/none/here', 'a/b/c', '../x', 'a/..', 'C:\\models', '~/models', ''])(
    'is refused when it can be neither: %j',
    async (value) => {
      await expect(recogniseTokenizer(value)).rejects.toMatchObject({
        exitCode: 2,
        message: `--tokenizer: the folder ${value} does not exist`,
      });
    },
  );
  it('is refused when it is a file', async () => {
    await expect(recogniseTokenizer(scratchFile(scratchFolder(), 'x.json', '{}'))).rejects.toThrow(
      /x\.json is a file$/,
    );
  });
  it('opens', async () => {
    expect(await openTokenizer({ kind: 'none' })).toBeNull();
    const local = await openTokenizer({ kind: 'folder', path: modelFolder('qwen3') });
    expect(await local?.countAll(['Hello world'])).toEqual([2]);
    const server = { origin: 'http://127.0.0.1:1', basePath: '', headers: {}, model: 'M' };
    const remote = await openTokenizer({ kind: 'server', ...server });
    expect(remote?.id).toBe('M');
    await remote?.close();
  });
});
