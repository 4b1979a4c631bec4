/** The limit of open files of this process: each connection takes one. */
import { readFileSync } from 'node:fs';

/** Soft limit, which Node has raised to the hard one at start; null where it is not told or there is none. */
export function openFilesLimit(): number | null {
  try {
    const row = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    return row === null ? null : Number(row[1]);
  } catch {
    return reportedLimit();
  }
}

/** Systems without /proc: Node's diagnostic report knows the limit. */
function reportedLimit(): number | null {
  const report = process.report.getReport() as unknown as { userLimits?: { open_files?: { soft?: unknown } } };
  const soft = report.userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : null;
}
