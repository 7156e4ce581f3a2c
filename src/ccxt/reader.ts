import type { Int } from "ccxt";
import type { ChannelRequest } from "../client/types.ts";

/** How far a program has read: of each stream the last change that it was told of, the longest untold stream first. */
export type ReadPosition = Map<string, number>;

/** What a program reads. */
export interface WatchCall {
  method: string;
  requests: readonly ChannelRequest[];
  /** ccxt's symbols, where the stream tells of others, too. */
  wanted?: readonly string[] | undefined;
  /** Of a book. */
  limit?: Int;
}

/** More than that are no loops, but calls whose answer nobody waits for any more. */
const MAX_LOOPS = 16;

/** What callers wait for together. */
interface PendingRead<News> {
  /** What lies beyond it they, or one of them, have not been told. */
  readonly place: ReadPosition;
  callers: number;
  readonly promise: Promise<News>;
  resolve(news: News): void;
  reject(error: unknown): void;
}

/**
 * All calls of one method in the same words: usually one loop, which is told what has come since its call before, and
 * reads for itself, whatever other methods read of the same streams. Two loops in the same words cannot be told apart.
 * Who waits at the same time is told the same. Of a state, a caller who may have missed a change is told it at once, and
 * whoever waits then is told again. Of events, none is told twice: those that came when one loop was waiting are that
 * loop's.
 */
export class Reader<News> {
  readonly call: WatchCall;
  private readonly isState: boolean;
  /** Where callers were when they got their last answer, of those who do not wait now, the latest answer last. */
  private positions: ReadPosition[] = [];
  private pending: PendingRead<News> | null = null;

  constructor(words: WatchCall, isOfState: boolean) {
    this.call = words;
    this.isState = isOfState;
  }

  /**
   * Resolves with what `find` finds beyond a place, which it moves; where that is nothing, again after each `follow`,
   * which resolves when there may be something.
   */
  read(find: (place: ReadPosition) => News | undefined, follow: () => Promise<unknown>): Promise<News> {
    const place = this.positions.pop();
    if (this.pending !== null) {
      const { pending } = this;
      pending.callers++;
      if (place !== undefined) rewind(pending.place, place);
      this.tryResolve(pending, find);
      return pending.promise;
    }
    const wait = openPendingRead<News>(new Map(place));
    this.pending = wait;
    wait.callers++;
    this.tryResolve(wait, find);
    if (this.pending === wait) this.followUp(wait, find, follow);
    return wait.promise;
  }

  /** Whoever waits is told so. */
  end(error: Error): void {
    this.pending?.reject(error);
    this.pending = null;
  }

  private async followUp(
    wait: PendingRead<News>,
    find: (place: ReadPosition) => News | undefined,
    follow: () => Promise<unknown>,
  ): Promise<void> {
    try {
      while (this.pending === wait) {
        await follow();
        this.tryResolve(wait, find);
      }
    } catch (error) {
      if (this.pending === wait) this.finish(wait);
      wait.reject(error);
    }
  }

  private tryResolve(wait: PendingRead<News>, find: (place: ReadPosition) => News | undefined): void {
    if (this.pending !== wait) return;
    const news = find(wait.place);
    if (news === undefined) return;
    this.finish(wait);
    wait.resolve(news);
  }

  private finish({ place, callers }: PendingRead<News>): void {
    this.pending = null;
    const left = Array.from({ length: callers }, () => place);
    this.positions = this.isState ? [...this.positions, ...left].slice(-MAX_LOOPS) : [place];
  }
}

function openPendingRead<News>(place: ReadPosition): PendingRead<News> {
  let settle: Pick<PendingRead<News>, "resolve" | "reject"> | undefined;
  const promise = new Promise<News>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { place, callers: 0, promise, ...(settle as Pick<PendingRead<News>, "resolve" | "reject">) };
}

function rewind(place: ReadPosition, other: ReadPosition): void {
  for (const [hash, change] of place) place.set(hash, Math.min(change, other.get(hash) ?? 0));
}
