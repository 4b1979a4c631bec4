/** One line of a JSON lines record file. */

/** Text in quotes, or one of the words that Python's json writes and JSON does not know. */
const STRING_OR_WORD = /"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g;

/**
 * The value of a line. Python's `NaN`, `Infinity` and `-Infinity` are taken as the strings "nan", "inf" and "-inf", as this program
 * writes them itself.
 * @throws SyntaxError when it is no JSON
 */
export function parseLine(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!/\b(?:NaN|Infinity)\b/.test(text)) throw error;
    return JSON.parse(text.replace(STRING_OR_WORD, (word) => WORDS[word] ?? word));
  }
}

const WORDS: Readonly<Record<string, string>> = { NaN: '"nan"', Infinity: '"inf"', '-Infinity': '"-inf"' };
