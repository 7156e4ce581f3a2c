import { parentPort, workerData } from "node:worker_threads";
import { Doorbell, RingConsumer, RingProducer } from "../../../src/wire/ring.ts";
import { RingTraffic } from "./ring-traffic.ts";

/** One end of a ring on its own thread. Both ends sleep on doorbells, like the exchange's threads. */
export interface RingPeerTask {
  role: "producer" | "consumer";
  ring: SharedArrayBuffer;
  consumerDoorbell: SharedArrayBuffer;
  producerDoorbell: SharedArrayBuffer;
  seed: number;
  records: number;
}

export interface RingPeerReport {
  bytes: number;
  /** "": none. */
  fault: string;
  /** Waits that timed out. Each one is a lost wake(). */
  lostDoorbells: number;
}

/** Far longer than a correct run takes. */
const WAIT_MS = 10_000;

class Peer {
  protected readonly report: RingPeerReport = { bytes: 0, fault: "", lostDoorbells: 0 };
  protected readonly traffic: RingTraffic;
  protected readonly task: RingPeerTask;
  private readonly own: Doorbell;
  protected readonly other: Doorbell;

  constructor(task: RingPeerTask, maxRecordBytes: number) {
    this.task = task;
    this.traffic = new RingTraffic(task.seed, maxRecordBytes);
    const producer = new Doorbell(task.producerDoorbell);
    const consumer = new Doorbell(task.consumerDoorbell);
    this.own = task.role === "producer" ? producer : consumer;
    this.other = task.role === "producer" ? consumer : producer;
  }

  /** Sleeps until `look` returns something, and returns it. */
  protected sleepUntil(look: () => number): number {
    for (;;) {
      this.own.prepareSleep();
      let found = look();
      if (found < 0) {
        const from = Date.now();
        this.own.wait(WAIT_MS);
        found = look();
        if (Date.now() - from >= WAIT_MS) this.report.lostDoorbells++;
      } else this.own.cancelSleep();
      if (found >= 0 || this.report.lostDoorbells > 0) return found;
    }
  }
}

class Producer extends Peer {
  run(): RingPeerReport {
    const { traffic, report, task } = this;
    const ring = new RingProducer(task.ring, this.other);
    for (let record = 0; record < task.records; record++) {
      const length = traffic.lengthOf(record);
      // Sometimes more room than needed, and sometimes a reservation without a commit.
      const bound = Math.min(ring.maxRecordBytes, length + (traffic.draw(record, 2) % 64));
      if (traffic.draw(record, 3) % 8 === 0) ring.reserve(traffic.draw(record, 4) % ring.maxRecordBytes);
      let at = ring.reserve(bound);
      if (at < 0) {
        ring.wake();
        at = this.sleepUntil(() => ring.reserve(bound));
        if (at < 0) break;
      }
      traffic.fill(ring.bytes, at, record, length);
      ring.commit(length);
      report.bytes += length;
      if (traffic.draw(record, 5) % 4 === 0) ring.wake();
    }
    ring.wake();
    return report;
  }
}

class Consumer extends Peer {
  run(): RingPeerReport {
    const { traffic, report, task } = this;
    const ring = new RingConsumer(task.ring);
    for (let record = 0; record < task.records && report.fault === ""; record++) {
      let at = ring.peek();
      if (at < 0) {
        ring.release();
        this.other.wake();
        at = this.sleepUntil(() => ring.peek());
        if (at < 0) break;
      }
      const length = traffic.lengthOf(record);
      const wrong = traffic.firstWrong(ring.bytes, at, record, length);
      if (ring.length !== length) report.fault = `record ${record} has ${ring.length} bytes, not ${length}`;
      else if (wrong >= 0) report.fault = `record ${record} of ${length} bytes is wrong at ${wrong}`;
      report.bytes += ring.length;
      ring.next();
      if (traffic.draw(record, 6) % 4 !== 0) continue;
      ring.release();
      this.other.wake();
    }
    ring.release();
    if (report.fault === "" && ring.peek() >= 0) report.fault = "more records than were written";
    return report;
  }
}

if (parentPort !== null) {
  const task = workerData as RingPeerTask;
  const maxRecordBytes = new RingProducer(task.ring, new Doorbell()).maxRecordBytes;
  const peer = task.role === "producer" ? new Producer(task, maxRecordBytes) : new Consumer(task, maxRecordBytes);
  parentPort.postMessage(peer.run());
}
