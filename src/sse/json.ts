/**
 * JSON as servers written in Python send it: `NaN` and `Infinity`, which `json.dumps` writes and JSON.parse refuses, read as null.
 * @throws SyntaxError when the text is not JSON even so
 */
export function parseServerJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!/NaN|Infinity/.test(text)) throw error;
    // Strings are matched first, so that the words are replaced only outside of them.
    const repaired = text.replace(/"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g, (part) =>
      part.startsWith('"') ? part : 'null',
    );
    return JSON.parse(repaired);
  }
}
