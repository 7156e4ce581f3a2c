import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type Answer, Api } from "../../e2e/support/api.ts";
import { mayHaveSettled } from "../../e2e/support/funding.ts";
import { type KeyHolder, openKey } from "../../e2e/support/keys.ts";
import { startServer, type TestServer } from "../../e2e/support/server.ts";
import { SocketClient } from "../../e2e/support/socket.ts";
import { ownMs, stallsBetween } from "../../e2e/support/stalls.ts";
import { leavesUntouched, openTarget, type Target } from "../../e2e/support/untouched.ts";

const AT_ONCE = 32;
/** Allowed memory growth of the server, including caches and garbage, however long the attack is. */
const MAX_GROWTH_BYTES = 256 * 1024 * 1024;

let maxStallMs = Number.POSITIVE_INFINITY;

/** Sets the longest time that an attack may block the gateway's event loop. For an otherwise idle machine. */
export function limitStalls(limitMs: number): void {
  maxStallMs = limitMs;
}

/** The exchange under attack. Its log sequence shows whether anything was executed. */
export class AttackedExchange {
  readonly server: TestServer;
  readonly target: Target;
  readonly anonymous: Api;
  /** Key of alice's account with all permissions. */
  readonly key: KeyHolder;
  private readonly observer: SocketClient;
  private readonly bytesBefore: number;

  private constructor(server: TestServer, target: Target, key: KeyHolder, witness: SocketClient) {
    this.server = server;
    this.target = target;
    this.anonymous = new Api(server.url);
    this.key = key;
    this.observer = witness;
    this.bytesBefore = this.memoryBytes();
  }

  /**
   * Attacks a new, otherwise idle exchange, then checks that it is consistent. `limitsStalls`: apply the limit of
   * limitStalls().
   */
  static async run(
    say: (line: string) => void,
    attack: (victim: AttackedExchange) => Promise<void>,
    limitsStalls = true,
  ): Promise<void> {
    const environment = {
      // No withdrawal is sent during the test: its progress would be an event.
      PERPD_WITHDRAWAL_DELAY_MS: "86400000",
      // Makes glibc return freed buffers at once, so that memory growth is only what the server keeps.
      MALLOC_MMAP_THRESHOLD_: "65536",
    };
    const server = await startServer({ environment, program: "watched-main" });
    try {
      const target = await openTarget(server);
      const key = await openKey(server, target.alice, ["READ", "TRADE", "WITHDRAW"]);
      const victim = new AttackedExchange(server, target, key, await SocketClient.open(server.wsUrl));
      const from = Date.now();
      await attack(victim);
      const until = Date.now();
      await victim.check(say);
      const stallMs = victim.longestStallMs(from, until, say);
      assert.ok(!limitsStalls || stallMs <= maxStallMs, `held up for more than ${maxStallMs} ms`);
    } finally {
      await server.dispose();
    }
  }

  /**
   * Sends the inputs, many at once. `send` resolves with true when one was accepted; when none of a batch was, nothing
   * may have been executed. Resolves with the number of accepted inputs.
   */
  async sendAll<T>(inputs: Iterable<T>, send: (input: T) => Promise<boolean>): Promise<number> {
    let accepted = 0;
    let sequence = await this.sequence();
    for (const batch of batches(inputs, AT_ONCE)) {
      const since = Date.now();
      const results = await Promise.all(batch.map(send));
      const taken = results.filter(Boolean).length;
      const now = await this.sequence();
      if (taken === 0 && !mayHaveSettled(since))
        assert.equal(now, sequence, `refused, and yet something was done: ${JSON.stringify(batch)}`);
      sequence = now;
      accepted += taken;
    }
    return accepted;
  }

  /** The exchange must be unchanged after the attack. */
  leavesUntouched(attack: () => Promise<void>): Promise<void> {
    return leavesUntouched(this.target, attack);
  }

  private async sequence(): Promise<number> {
    return (await this.anonymous.get<{ sequence: number }>("/health")).sequence;
  }

  private async check(say: (line: string) => void): Promise<void> {
    assert.equal((await this.observer.request("ping")).op, "pong", "the observer has received everything");
    await this.target.operator.soundAudit();
    const grownBytes = this.memoryBytes() - this.bytesBefore;
    say(
      `memory: ${(this.memoryBytes() / 2 ** 20).toFixed(0)} MB, ${(grownBytes / 2 ** 20).toFixed(0)} MB more than before`,
    );
    assert.ok(grownBytes < MAX_GROWTH_BYTES, `${grownBytes} bytes more than before`);
    assert.deepEqual(await this.server.stop(), { code: 0, signal: null });
    assert.deepEqual(this.server.loggedErrors, []);
  }

  /**
   * The longest time in ms that its own work blocked the gateway's event loop in the period. The server must have
   * ended.
   */
  private longestStallMs(from: number, until: number, say: (line: string) => void): number {
    const [worst] = stallsBetween(from, until, this.server.stdout);
    if (worst === undefined) {
      say("the front's event loop was never held up for long");
      return 0;
    }
    const own = `${ownMs(worst).toFixed(0)} ms by its own work (${worst.runMs.toFixed(0)} ms on a processor)`;
    say(
      `the front's event loop was held up for ${own} and ${worst.queueMs.toFixed(0)} ms for want of a processor at worst`,
    );
    return ownMs(worst);
  }

  /** Anonymous resident memory of the process. */
  private memoryBytes(): number {
    const status = readFileSync(`/proc/${this.server.pid}/status`, "utf8");
    return 1024 * Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1] ?? 0);
  }
}

/** Fails for any server error except a deliberate 503. */
export function checkStatus(answer: Answer<unknown>, input: unknown): void {
  const isDeliberate = answer.status === 503 && answer.headers["retry-after"] !== undefined;
  assert.ok(answer.status < 500 || isDeliberate, `${JSON.stringify(input)}: ${answer.text}`);
}

function* batches<T>(inputs: Iterable<T>, size: number): Generator<T[]> {
  let batch: T[] = [];
  for (const input of inputs) {
    if (batch.push(input) < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
