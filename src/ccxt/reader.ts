import type { Int } from "ccxt";
import type { ChannelRequest } from "../client/types.ts";

/** How far a program has read: of each stream the last change that it was told of, the longest untold stream first. */
export type Place = Map<string, number>;

/** What a program reads. */
export interface Words {
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
interface Wait<News> {
  /** What lies beyond it they, or one of them, have not been told. */
  readonly place: Place;
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
  readonly words: Words;
  private readonly isOfState: boolean;
  /** Where callers were when they got their last answer, of those who do not wait now, the latest answer last. */
  private places: Place[] = [];
  private wait: Wait<News> | null = null;

  constructor(words: Words, isOfState: boolean) {
    this.words = words;
    this.isOfState = isOfState;
  }

  /**
   * Resolves with what `find` finds beyond a place, which it moves; where that is nothing, again after each `follow`,
   * which resolves when there may be something.
   */
  read(find: (place: Place) => News | undefined, follow: () => Promise<unknown>): Promise<News> {
    const place = this.places.pop();
    if (this.wait !== null) {
      const { wait } = this;
      wait.callers++;
      if (place !== undefined) goBack(wait.place, place);
      this.look(wait, find);
      return wait.promise;
    }
    const wait = openWait<News>(new Map(place));
    this.wait = wait;
    wait.callers++;
    this.look(wait, find);
    if (this.wait === wait) this.followUp(wait, find, follow);
    return wait.promise;
  }

  /** Whoever waits is told so. */
  end(error: Error): void {
    this.wait?.reject(error);
    this.wait = null;
  }

  private async followUp(
    wait: Wait<News>,
    find: (place: Place) => News | undefined,
    follow: () => Promise<unknown>,
  ): Promise<void> {
    try {
      while (this.wait === wait) {
        await follow();
        this.look(wait, find);
      }
    } catch (error) {
      if (this.wait === wait) this.leave(wait);
      wait.reject(error);
    }
  }

  private look(wait: Wait<News>, find: (place: Place) => News | undefined): void {
    if (this.wait !== wait) return;
    const news = find(wait.place);
    if (news === undefined) return;
    this.leave(wait);
    wait.resolve(news);
  }

  private leave({ place, callers }: Wait<News>): void {
    this.wait = null;
    const left = Array.from({ length: callers }, () => place);
    this.places = this.isOfState ? [...this.places, ...left].slice(-MAX_LOOPS) : [place];
  }
}

function openWait<News>(place: Place): Wait<News> {
  let settle: Pick<Wait<News>, "resolve" | "reject"> | undefined;
  const promise = new Promise<News>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { place, callers: 0, promise, ...(settle as Pick<Wait<News>, "resolve" | "reject">) };
}

function goBack(place: Place, other: Place): void {
  for (const [hash, change] of place) place.set(hash, Math.min(change, other.get(hash) ?? 0));
}
