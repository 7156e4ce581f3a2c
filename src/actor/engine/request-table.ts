import { must } from "../../assert.ts";
import type { OnReply } from "./engine.ts";

/** The most requests that may wait for a reply at once. A power of two, because a request id is masked to its slot. */
export const MAX_PENDING = 65_536;

/** The requests that wait for a reply. A request id is a u32; 0 means that nobody waits for the command. */
export class RequestTable {
  private readonly callbacks: (OnReply | undefined)[] = new Array(MAX_PENDING).fill(undefined);
  /** By slot: the worker that the request was sent to. */
  private readonly workers = new Uint16Array(MAX_PENDING);
  private pending = 0;
  private nextId = 1;

  get size(): number {
    return this.pending;
  }

  get isFull(): boolean {
    return this.pending === MAX_PENDING;
  }

  /** The id for the next add(). The table must not be full. Skips slots of requests that a hung thread still holds. */
  freeId(): number {
    while (this.callbacks[slotOf(this.nextId)] !== undefined) this.nextId = idAfter(this.nextId);
    return this.nextId;
  }

  add(id: number, worker: number, onReply: OnReply): void {
    const slot = slotOf(id);
    this.callbacks[slot] = onReply;
    this.workers[slot] = worker;
    this.pending++;
    this.nextId = idAfter(id);
  }

  /** Removes the request. Returns the callback for its reply. */
  take(id: number): OnReply {
    const slot = slotOf(id);
    const onReply = must(this.callbacks[slot], "the request of a reply");
    this.callbacks[slot] = undefined;
    this.pending--;
    return onReply;
  }

  /** Answers every request of the worker with null: it was not executed. */
  failAll(worker: number): void {
    for (let slot = 0; slot < MAX_PENDING; slot++)
      if (this.callbacks[slot] !== undefined && this.workers[slot] === worker) this.take(slot)(null);
  }
}

const slotOf = (id: number): number => id & (MAX_PENDING - 1);

const idAfter = (id: number): number => (id === 0xffff_ffff ? 1 : id + 1);
