/** Generous: a test fails by it only when what it waits for does not come. */
const DEADLINE_MS = 60_000;

/** Looks again and again until `look` answers something other than undefined or false. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await pause(10);
  }
}

/**
 * Does what only works before a time that comes soon, so many milliseconds from now; where that time came first, since the
 * machine was held up, once more with one twice as far off.
 */
export async function inTime<T>(soonMs: number, act: (time: number) => Promise<T>): Promise<T> {
  for (let ms = soonMs; ; ms *= 2) {
    const time = Date.now() + ms;
    try {
      return await act(time);
    } catch (error) {
      if (Date.now() < time || ms > DEADLINE_MS) throw error;
    }
  }
}

const DAY_MS = 86_400_000;
const today = (): number => Math.floor(Date.now() / DAY_MS);

/** Does what only works within one day (UTC); where that has ended meanwhile, once more. */
export async function inOneDay(act: () => Promise<void>): Promise<void> {
  for (;;) {
    const day = today();
    try {
      return await act();
    } catch (error) {
      if (today() === day) throw error;
    }
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
