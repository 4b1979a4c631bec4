/** "Did you mean": the nearest of a list of words. */

/**
 * Edit distance of two words, counting insertions, deletions, replacements and swaps of neighbours as one each (optimal string
 * alignment, Damerau 1964).
 */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min(row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, beforeLast[j - 2]! + 1);
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}

/**
 * The word of `known` that `word` was most likely meant to be, or undefined when none is near: at most a third of the letters
 * differ, or it is a part of the other. The first of equally near ones wins.
 */
export function suggest(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  const limit = Math.max(1, Math.floor(word.length / 3));
  for (const candidate of known) {
    // A distance is at least the difference in length: most words of the table are ruled out by that.
    if (Math.abs(candidate.length - word.length) > limit) continue;
    const distance = editDistance(word, candidate);
    if (distance < bestDistance && distance <= limit) {
      best = candidate;
      bestDistance = distance;
    }
  }
  if (best !== undefined || word.length < 4) return best;
  for (const candidate of known) if (candidate.includes(word)) return candidate;
  return undefined;
}
