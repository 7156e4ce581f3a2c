import { TimeSlicer } from "../common/time-slicer.ts";
import type { Answer } from "../http/answer.ts";

/** Sending the first 64 KiB of a long answer takes some 30 µs. */
const RESULTS_PER_ITERATION = 8;

type Waiting = Pick<Answer, "done">;

/** Those that one read answers. */
class Group<T> implements Waiting {
  readonly members: Waiting[] = [];
  hasBegun = false;
  result!: Promise<T>;

  /** Nobody waits any more. */
  get done(): boolean {
    return this.members.every(({ done }) => done);
  }
}

const results = new TimeSlicer<() => void>(RESULTS_PER_ITERATION, (resume) => resume());

/**
 * Reads for many who ask the same. While one read runs, all who come wait for the next one and share it. So equal requests cost
 * no more than one read after the other, and nobody gets a state from before their request. They get the result a few in each
 * event-loop iteration, since each goes on to send it.
 */
export class SharedReads<T> {
  /** By key the newest group, until its read has ended. */
  private readonly groups = new Map<string, Group<T>>();

  /** Resolves with the result of `read`. `group` is done when all who share the read are. */
  async share(key: string, answer: Waiting, read: (group: Waiting) => Promise<T>): Promise<T> {
    const result = await this.join(key, answer, read);
    await new Promise<void>((resume) => {
      results.add(resume);
      results.run();
    });
    return result;
  }

  private join(key: string, answer: Waiting, read: (group: Waiting) => Promise<T>): Promise<T> {
    const newest = this.groups.get(key);
    if (newest === undefined || newest.hasBegun) return this.open(key, newest, answer, read);
    newest.members.push(answer);
    return newest.result;
  }

  private open(
    key: string,
    before: Group<T> | undefined,
    answer: Waiting,
    read: (group: Waiting) => Promise<T>,
  ): Promise<T> {
    const group = new Group<T>();
    group.members.push(answer);
    this.groups.set(key, group);
    const begin = (): Promise<T> => {
      group.hasBegun = true;
      return read(group);
    };
    const ended = before === undefined ? begin() : before.result.then(begin, begin);
    group.result = ended.finally(() => {
      if (this.groups.get(key) === group) this.groups.delete(key);
    });
    return group.result;
  }
}
