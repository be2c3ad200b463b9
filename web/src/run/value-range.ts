/** What a value axis shows. */

/** Room above what is drawn; from 0 where that is meant. */
export function yRange(low: number | null, high: number | null, fromZero: boolean): [number, number] {
  if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  const bottom = fromZero ? Math.min(low, 0) : low;
  const room = 0.06 * Math.max(high - bottom, Math.abs(high) * 0.02, 1e-9);
  if (bottom === 0) return [0, high + room];
  return [low >= 0 ? Math.max(bottom - room, 0) : bottom - room, high + room];
}
