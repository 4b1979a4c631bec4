/** The vocabulary of the mock's texts: each entry is one token of its tokenizer (tokenizer.ts). */

const COMMON =
  'the of and to in a is that for it as was with be by on not he this are or his from at which but have an had they you were ' +
  'their one all we can her has there been if more when will would who so no out up into them then she many some these two may ' +
  'other like him time could its now than my made first over new only any after down where most before did because must even ' +
  'such through your years also way back should long just own people state each those well too';

/** Plain words with their leading space, in a fixed order: what the mock says unless asked for something else. */
export const WORDS: readonly string[] = COMMON.split(' ').map((word) => ` ${word}`);

/** Texts that are hard on clients (`[[unicode]]`): wide characters, joiners, separators, characters that JSON escapes. */
export const UNICODE_TOKENS: readonly string[] = [
  'é',
  '👩‍👩‍👧',
  '\\',
  '\n',
  '你好',
  '\u2028',
  '\u2029',
  '\u0085',
  '"',
  '🏳️‍🌈',
  'ß',
  '\t',
  'ﷺ',
];

/** Texts that look like the framing of an event stream (`[[raw]]`). */
export const RAW_TOKENS: readonly string[] = [
  '\r\n',
  '\n\n',
  'data: ',
  '\r\n\r\n',
  'data: [DONE]',
  ': ping',
  'event: x',
];
