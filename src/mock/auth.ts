/** Who may do what, by TabbyAPI's rules. */
import { type Answer, detailAnswer } from './bodies.ts';
import type { HttpRequest } from './http.ts';
import type { MockOptions } from './options.ts';

/** What a request's keys allow. */
export type Permission = 'admin' | 'api';

/** The key of `Authorization: Bearer KEY` (the word is required, its case is not), '' for anything else there, undefined without it. */
function bearer(request: HttpRequest): string | undefined {
  const value = request.headers.get('authorization');
  if (value === undefined) return undefined;
  return /^bearer\s+(.+)$/i.exec(value)?.[1]?.trim() ?? '';
}

/** The permission of a key, null when it is wrong. */
function permissionOf(options: MockOptions, key: string): Permission | null {
  if (options.adminKey !== '' && key === options.adminKey) return 'admin';
  return key === options.apiKey ? 'api' : null;
}

/** API endpoints: `x-api-key` or a bearer; `x-admin-key` alone does not count. Without keys set everyone is admin. */
export function checkApiKey(options: MockOptions, request: HttpRequest): Permission | Answer {
  if (options.apiKey === '') return 'admin';
  const key = request.headers.get('x-api-key') ?? bearer(request);
  if (key === undefined) return detailAnswer(401, 'Please provide an API key');
  return permissionOf(options, key) ?? detailAnswer(401, 'Invalid API key');
}

/** Admin endpoints: `x-admin-key` or a bearer. */
export function checkAdminKey(options: MockOptions, request: HttpRequest): 'admin' | Answer {
  if (options.apiKey === '') return 'admin';
  const key = request.headers.get('x-admin-key') ?? bearer(request);
  if (key === undefined) return detailAnswer(401, 'Please provide an admin key');
  return permissionOf(options, key) === 'admin' ? 'admin' : detailAnswer(401, 'Invalid admin key');
}
