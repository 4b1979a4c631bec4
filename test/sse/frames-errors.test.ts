import { describe, expect, it } from 'vitest';
import { errorWords } from '../../src/sse/frames.ts';

describe('the words of an error in a stream', () => {
  it.each<[string, string]>([
    ['{"error":{"message":"m","code":1}}', 'm'],
    ['{"error":{"code":1}}', '{"code":1}'],
    ['{"error":"text"}', 'text'],
    ['{"error":500}', '500'],
    ['{"error":0}', '0'],
    ['{"error":true}', 'true'],
    ['{"error":["a","b"]}', '["a","b"]'],
    ['{"detail":"d"}', 'd'],
    ['{"detail":503}', '503'],
    ['{"detail":true}', 'true'],
    ['{"detail":[{"msg":"m"}]}', '[{"msg":"m"}]'],
    ['{"object":"error","message":"m"}', 'm'],
  ])('%s', (frame, words) => {
    expect(errorWords(JSON.parse(frame) as Record<string, unknown>, false)).toBe(words);
  });

  it.each([
    '{"error":null,"choices":[]}',
    '{"error":"","choices":[]}',
    '{"error":false,"choices":[]}',
    '{"choices":[],"detail":[]}',
    '{"id":"x"}',
  ])('are not in %s', (frame) => {
    expect(errorWords(JSON.parse(frame) as Record<string, unknown>, false)).toBeNull();
  });
});
