/** The members of a call by which WaitingCalls links it. `C` is the call itself. */
export interface Waiting<C extends Waiting<C>> {
  /** By performance.now(), a clock that nobody sets. */
  readonly arrivedAt: number;
  readonly awaitsBody: boolean;
  waitsIn: WaitingCalls<C> | null;
  previous: C | null;
  next: C | null;
}

/** The calls that wait for their answer, oldest first. They are linked, so no call needs a timer of its own. */
export class WaitingCalls<C extends Waiting<C>> {
  private first: C | null = null;
  private last: C | null = null;

  get isEmpty(): boolean {
    return this.first === null;
  }

  add(call: C): void {
    call.waitsIn = this;
    call.previous = this.last;
    if (this.last === null) this.first = call;
    else this.last.next = call;
    this.last = call;
  }

  remove(call: C): void {
    if (call.previous === null) this.first = call.next;
    else call.previous.next = call.next;
    if (call.next === null) this.last = call.previous;
    else call.next.previous = call.previous;
    call.waitsIn = null;
    call.previous = null;
    call.next = null;
  }

  /** The calls whose body is still on the way: nothing has been done for them. */
  unread(): C[] {
    const calls: C[] = [];
    for (let call = this.first; call !== null; call = call.next) if (call.awaitsBody) calls.push(call);
    return calls;
  }

  /** Calls `expire` for at most `atMost` calls that arrived before `before`, oldest first. It must answer each of them. */
  expire(before: number, atMost: number, expire: (call: C) => void): void {
    for (let i = 0; i < atMost && this.first !== null && this.first.arrivedAt < before; i++) expire(this.first);
  }
}
