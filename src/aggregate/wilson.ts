/** Confidence interval of a share. */

/** Deviations of the normal distribution for 95 %. */
const Z95 = 1.959963984540054;

/** Wilson's score interval at 95 % (E. B. Wilson, JASA 22, 1927) for `hits` of `trials`; 0 to 1 when there were no trials. */
export function wilson(hits: number, trials: number): { readonly low: number; readonly high: number } {
  if (trials === 0) return { low: 0, high: 1 };
  const share = hits / trials;
  const z2 = Z95 * Z95;
  const centre = share + z2 / (2 * trials);
  const spread = Z95 * Math.sqrt((share * (1 - share)) / trials + z2 / (4 * trials * trials));
  const scale = 1 + z2 / trials;
  return { low: Math.max(0, (centre - spread) / scale), high: Math.min(1, (centre + spread) / scale) };
}
