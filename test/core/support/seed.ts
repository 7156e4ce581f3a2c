/** Taken from SEED to repeat a run; printed first, so that there is something to repeat. */
export function takeSeed(of: string): number {
  const seed = Number(process.env.SEED ?? Date.now() & 0x7fffffff);
  console.log(`${of} SEED=${seed}`);
  return seed;
}
