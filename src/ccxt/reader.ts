import type { Int } from "ccxt";
import type { ChannelRequest } from "../client/types.ts";

/** How far a program has read: the last change number of each stream, the stream that was read longest ago first. */
export type ReadPosition = Map<string, number>;

export interface WatchCall {
  method: string;
  requests: readonly ChannelRequest[];
  /** ccxt's symbols, when the stream also contains others. */
  wanted?: readonly string[] | undefined;
  /** Levels of a book. */
  limit?: Int;
}

/** More than this are not loops but calls that nobody awaits any more. */
const MAX_LOOPS = 16;

/** A read that several callers wait for together. */
interface PendingRead<Result> {
  /** All of the callers have read up to here, at least. */
  readonly position: ReadPosition;
  callers: number;
  readonly promise: Promise<Result>;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * All calls of one watch* method with the same parameters. Usually they come from one loop, which gets the changes
 * since its last call, whatever other methods read of the same streams. Two loops with the same parameters cannot be
 * told apart.
 * Callers that wait at the same time get the same result. For state: a caller that may have missed a change gets it at
 * once, and so do all that wait then. For events: none is reported twice; events that arrive while only one loop waits
 * belong to that loop.
 */
export class Reader<Result> {
  readonly call: WatchCall;
  private readonly isState: boolean;
  /** Read positions of callers that do not wait now, the latest answer last. */
  private positions: ReadPosition[] = [];
  private pending: PendingRead<Result> | null = null;

  constructor(words: WatchCall, isOfState: boolean) {
    this.call = words;
    this.isState = isOfState;
  }

  /**
   * Resolves with the first result of `find`, which looks beyond a read position and moves it. Calls `find` again
   * whenever `follow` resolves.
   */
  read(find: (position: ReadPosition) => Result | undefined, follow: () => Promise<unknown>): Promise<Result> {
    const position = this.positions.pop();
    if (this.pending !== null) {
      const { pending } = this;
      pending.callers++;
      if (position !== undefined) rewind(pending.position, position);
      this.tryResolve(pending, find);
      return pending.promise;
    }
    const wait = openPendingRead<Result>(new Map(position));
    this.pending = wait;
    wait.callers++;
    this.tryResolve(wait, find);
    if (this.pending === wait) this.followUp(wait, find, follow);
    return wait.promise;
  }

  end(error: Error): void {
    this.pending?.reject(error);
    this.pending = null;
  }

  private async followUp(
    wait: PendingRead<Result>,
    find: (position: ReadPosition) => Result | undefined,
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

  private tryResolve(wait: PendingRead<Result>, find: (position: ReadPosition) => Result | undefined): void {
    if (this.pending !== wait) return;
    const result = find(wait.position);
    if (result === undefined) return;
    this.finish(wait);
    wait.resolve(result);
  }

  private finish({ position, callers }: PendingRead<Result>): void {
    this.pending = null;
    const left = Array.from({ length: callers }, () => position);
    this.positions = this.isState ? [...this.positions, ...left].slice(-MAX_LOOPS) : [position];
  }
}

function openPendingRead<Result>(position: ReadPosition): PendingRead<Result> {
  let settle: Pick<PendingRead<Result>, "resolve" | "reject"> | undefined;
  const promise = new Promise<Result>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { position, callers: 0, promise, ...(settle as Pick<PendingRead<Result>, "resolve" | "reject">) };
}

function rewind(position: ReadPosition, other: ReadPosition): void {
  for (const [hash, change] of position) position.set(hash, Math.min(change, other.get(hash) ?? 0));
}
