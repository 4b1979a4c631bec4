/** Fetches the Rust client: it lies in the wheel of vLLM on PyPI, which is a zip file. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const PACKAGE = 'vllm==0.30.0';
const MEMBER = 'vllm/vllm-rs';

/** Path of the client below `dir`, fetched (some 300 MB) when it is not there yet. */
export function installRust(dir: string, note: (line: string) => void): string {
  const path = join(dir, MEMBER);
  if (existsSync(path)) return path;
  mkdirSync(dir, { recursive: true });
  note(`fetching ${PACKAGE} from PyPI into ${dir} ...`);
  must('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', dir, PACKAGE]);
  const wheel = readdirSync(dir).find((name) => /^vllm-.*\.whl$/.test(name));
  if (wheel === undefined) throw new Error(`pip left no wheel in ${dir}`);
  const script = 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract(sys.argv[2], sys.argv[3])';
  must('python3', ['-c', script, join(dir, wheel), MEMBER, dir]);
  chmodSync(path, 0o755);
  return path;
}

function must(command: string, args: readonly string[]): void {
  const { status, error, stderr } = spawnSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  if (status !== 0) throw new Error(`${command} ${args[1]} failed: ${error?.message ?? stderr.toString().trim()}`);
}
