/**
 * Keeps two runs at the same time from writing to one record file, where each would destroy what the other wrote. Beside the file lies a
 * symbolic link `FILE.lock` that points to `PID@HOST`: such a link comes to be at once and with its content, or not at all. A run that was
 * killed leaves one behind, which the next run finds to be of a process that is no more.
 */
import { readlinkSync, unlinkSync } from 'node:fs';
import { readlink, symlink, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { type AppError, codeOf, usageError } from '../errors.ts';

const held = new Set<string>();
let isExitWatched = false;

/**
 * Takes the lock of a file, or of whatever a file stands for.
 * @param refusal what is thrown when it is held; the process that holds it is named
 * @returns its path for {@link unlockRecords}; null where no link can be made (read-only folder, a file system without links): then there is none
 * @throws a usage error when a run of this machine holds it
 */
export async function lockRecords(
  path: string,
  refusal: (holder: string) => AppError = (holder) =>
    usageError(
      `--save-records ${path} is being written by another run (process ${holder})`,
      'Give each run its own file.',
    ),
): Promise<string | null> {
  const lock = `${path}.lock`;
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      await symlink(ownName(), lock);
      hold(lock);
      return lock;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') return null;
    }
    const holder = await readlink(lock).catch(() => '');
    if (isRunning(holder)) throw refusal(holder.split('@')[0] ?? '');
    await unlink(lock).catch(() => undefined);
  }
  return null;
}

/** Gives a lock back. Safe to call twice. Never throws. */
export async function unlockRecords(lock: string): Promise<void> {
  if (!held.delete(lock)) return;
  if ((await readlink(lock).catch(() => '')) === ownName()) await unlink(lock).catch(() => undefined);
}

function ownName(): string {
  return `${process.pid}@${hostname()}`;
}

/** Of another machine nothing can be known; its writing is noticed by the size of the file. */
function isRunning(holder: string): boolean {
  const [pid = '', host] = holder.split('@');
  if (host !== hostname() || !/^[1-9]\d*$/.test(pid)) return false;
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** A program that leaves in a hurry gives its locks back all the same. */
function hold(lock: string): void {
  held.add(lock);
  if (isExitWatched) return;
  isExitWatched = true;
  process.once('exit', () => {
    for (const each of held) {
      try {
        if (readlinkSync(each) === ownName()) unlinkSync(each);
      } catch {
        // Gone already, or its folder is.
      }
    }
  });
}
