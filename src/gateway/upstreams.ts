import { setTimeout as sleep } from "node:timers/promises";
import { BASE_PATH } from "../front/common/paths.ts";
import { sendUpstream, type UpstreamAnswer, type UpstreamRequest } from "./upstream-request.ts";

const PROBE_WITHIN_MS = 1_000;
const PROBE_PAUSE_MS = 50;
const PROBE: UpstreamRequest = {
  ...{ method: "GET", target: `${BASE_PATH}/replication`, headers: {}, body: null },
  withinMs: PROBE_WITHIN_MS,
};

type Send = (url: string, request: UpstreamRequest) => Promise<UpstreamAnswer>;

/** The leader and its standbys: finds out which of them leads. */
export class Upstreams {
  /** Called when a leader of another epoch was found. */
  onLeader: () => void = () => {};
  private readonly urls: readonly string[];
  private readonly send: Send;
  private found: string | null = null;
  private foundEpoch = 0;
  /** A process that leads in an earlier epoch has been deposed. */
  private minEpoch = 0;
  private probing: Promise<void> | null = null;
  private isChecking = false;

  /** `urls`: origins, at least one. */
  constructor(urls: readonly string[], send: Send = sendUpstream) {
    this.urls = urls;
    this.send = send;
  }

  /** Null: not known at the moment. */
  get leader(): string | null {
    return this.found;
  }

  /** For clients: the leader first, if it is known. */
  get baseUrls(): string[] {
    const others = this.urls.filter((url) => url !== this.found);
    return [...(this.found === null ? [] : [this.found]), ...others].map((url) => `${url}${BASE_PATH}`);
  }

  /** Of the leader that was found last; 0 = none was. */
  get epoch(): number {
    return this.foundEpoch;
  }

  /** The stream shows that a leader of this epoch has begun. */
  noteEpoch(epoch: number): void {
    this.minEpoch = Math.max(this.minEpoch, epoch);
    if (this.found === null || this.foundEpoch >= epoch) return;
    this.found = null;
    void this.find(performance.now() + PROBE_WITHIN_MS);
  }

  /** It does not answer, or does not lead. */
  forget(url: string): void {
    if (this.found === url) this.found = null;
  }

  /** Asks the leader that was found whether it still leads, and forgets it if not. Without calls nothing else would notice. */
  async check(): Promise<void> {
    const { found, foundEpoch } = this;
    if (found === null || this.isChecking) return;
    this.isChecking = true;
    const epoch = await this.epochOf(found);
    this.isChecking = false;
    // Meanwhile it may have been found in a later epoch.
    if (epoch !== foundEpoch && this.foundEpoch === foundEpoch) this.forget(found);
  }

  /** Resolves with the URL of the process that leads; null if none was found by `deadline` of performance.now(). */
  async find(deadline: number): Promise<string | null> {
    for (;;) {
      if (this.found !== null) return this.found;
      this.probing ??= this.probe().finally(() => {
        this.probing = null;
      });
      await this.probing;
      if (this.found !== null) return this.found;
      if (performance.now() + PROBE_PAUSE_MS >= deadline) return null;
      await sleep(PROBE_PAUSE_MS);
    }
  }

  /** Resolves when a leader was found, or all have answered. One that hangs must not delay the others. */
  private probe(): Promise<void> {
    return new Promise((end) => {
      const probes = this.urls.map(async (url) => {
        const epoch = await this.epochOf(url);
        if (epoch === 0 || epoch < this.minEpoch || (this.found !== null && epoch <= this.foundEpoch)) return;
        const isOther = epoch !== this.foundEpoch;
        this.found = url;
        this.foundEpoch = epoch;
        this.minEpoch = epoch;
        if (isOther) this.onLeader();
        end();
      });
      void Promise.all(probes).then(() => end());
    });
  }

  /** The epoch in which it leads; 0 = it does not, or does not answer. */
  private async epochOf(url: string): Promise<number> {
    try {
      const { status, body } = await this.send(url, PROBE);
      if (status !== 200) return 0;
      const { role, epoch } = JSON.parse(body.toString()) as { role?: unknown; epoch?: unknown };
      return role === "LEADER" && typeof epoch === "number" ? epoch : 0;
    } catch {
      return 0;
    }
  }
}
