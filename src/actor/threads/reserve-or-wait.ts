import type { Doorbell, RingProducer } from "../../wire/ring.ts";

/** As RingProducer.reserve(). While the ring is full the thread wakes the consumer and waits on its own doorbell. */
export function reserveOrWait(ring: RingProducer, bytes: number, doorbell: Doorbell): number {
  for (;;) {
    const at = ring.reserve(bytes);
    if (at >= 0) return at;
    ring.wake();
    doorbell.prepareSleep();
    doorbell.wait(1);
  }
}
