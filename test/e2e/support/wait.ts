/** Generous: only something that never comes reaches it. */
const DEADLINE_MS = 60_000;

/** Polls `look` until it returns something other than undefined or false. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`timed out waiting for ${what}`);
    await pause(10);
  }
}

/**
 * Runs an action that must finish before a time `soonMs` from now. Repeats it with twice the time when the machine was
 * too slow.
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

/** Runs an action that must finish within one UTC day; repeats it when the day ended. */
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
