import { setTimeout as sleep } from "node:timers/promises";
import { must } from "../assert.ts";
import type { Config } from "../config.ts";
import { Limits } from "../front/auth/limits.ts";
import { Operators } from "../front/auth/operators.ts";
import { ApiError } from "../front/common/errors.ts";
import { BASE_PATH, SOCKET_PATH } from "../front/common/paths.ts";
import type { SymbolPage } from "../front/exchange/symbol-page.ts";
import { authorityOf } from "../front/http/addresses.ts";
import type { OperatorLog } from "../front/http/answer.ts";
import type { Call } from "../front/http/call.ts";
import { Origins } from "../front/http/origins.ts";
import { listen, type Server } from "../front/http/server.ts";
import type { Socket, SocketHandlers } from "../front/http/sockets.ts";
import { TrustedProxies } from "../front/http/trusted-proxies.ts";
import { CONSOLE_PATH, Pages } from "../front/routes/pages.ts";
import { type Authenticator, Router } from "../front/routing/router.ts";
import { StreamFault } from "../replication/batch.ts";
import { openStreamReader } from "../replication/nats.ts";
import { type ReadableStream, UnknownOutcomeError } from "../replication/stream.ts";
import { Follower } from "./follower.ts";
import { Forwarder, ROUTER_HEADERS } from "./forwarder.ts";
import { LeaderKlines } from "./leader-klines.ts";
import { LeaderRelay } from "./leader-relay.ts";
import { readLeaderState } from "./leader-state.ts";
import { MarketSession } from "./market-session.ts";
import { ownRoutes } from "./own-routes.ts";
import { sendUpstream } from "./upstream-request.ts";
import { Upstreams } from "./upstreams.ts";

/** Market data that may be older is not shown. */
const STALE_AFTER_MS = 2_000;
/** Clients that get no market data for so long connect again: another gateway may have some. */
const CLOSE_AFTER_MS = 10_000;
const WATCH_EVERY_MS = 500;
/** The leader is asked so often whether it still leads. */
const CHECK_LEADER_EVERY_MS = 1_000;
const FIND_WITHIN_MS = 1_000;
const RETRY_MS = 500;
/** The log says the same reason for no market data at most this often. */
const LOG_EVERY_MS = 5_000;

const STALE = "The gateway does not hear the replicated stream, so its market data may be old. Send the request again.";
const STARTING = "The gateway has no market data yet, because no leader has answered. Send the request again.";

/** A gateway: it serves market data that it follows by itself, and passes everything else on to the leader. */
export class Gateway implements SocketHandlers {
  /** Rejects if the stream cannot be that of the leader: a restart does not help. */
  readonly done: Promise<void>;
  /** Resolves when there is market data for the first time. */
  readonly ready: Promise<void>;
  private readonly config: Config;
  private readonly log: OperatorLog;
  private readonly limits: Limits | null;
  private readonly upstreams: Upstreams;
  private readonly forwarder: Forwarder;
  private readonly relay: LeaderRelay;
  private readonly klines: LeaderKlines;
  private readonly pages = new Pages();
  private readonly own: Router;
  private readonly ownPaths: ReadonlySet<string>;
  private server: Server | null = null;
  private stream: ReadableStream | null = null;
  private closeStream: () => Promise<void> = () => Promise.resolve();
  /** Null: there is no market data. */
  private session: MarketSession | null = null;
  private checkedLeaderAtMs = Number.NEGATIVE_INFINITY;
  private loggedLeader: string | null = null;
  private loggedReason = "";
  private loggedAtMs = Number.NEGATIVE_INFINITY;
  private readonly watch: NodeJS.Timeout;
  private isStopping = false;
  private setReady: () => void = () => {};

  private constructor(config: Config, log: OperatorLog) {
    this.config = config;
    this.log = log;
    this.limits = Limits.open(config);
    this.upstreams = new Upstreams(config.upstreams);
    this.forwarder = new Forwarder({ upstreams: this.upstreams, send: sendUpstream, log });
    this.relay = new LeaderRelay(this.upstreams);
    this.klines = new LeaderKlines(this.upstreams);
    this.upstreams.onLeader = () => {
      this.forwarder.leaderChanged();
      this.relay.leaderChanged();
      this.klines.leaderChanged();
    };
    const routes = ownRoutes(this);
    this.own = new Router(routes, this.auth(), log, this.limits);
    this.ownPaths = Router.pathsOf(routes);
    this.ready = new Promise((resolve) => {
      this.setReady = resolve;
    });
    this.watch = setInterval(() => {
      this.lookAtLeader();
      this.lookAtStream();
    }, WATCH_EVERY_MS);
    this.done = this.run();
  }

  /** Listens at once, also while no leader answers. Rejects when it cannot listen. */
  static async open(config: Config, log: OperatorLog): Promise<Gateway> {
    const gateway = new Gateway(config, log);
    gateway.done.catch(() => {});
    try {
      gateway.server = await gateway.listen();
    } catch (error) {
      await gateway.stop();
      throw error;
    }
    return gateway;
  }

  get url(): string {
    return `http${this.secure}://${this.authority}${BASE_PATH}`;
  }

  get socketUrl(): string {
    return `ws${this.secure}://${this.authority}${SOCKET_PATH}`;
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    clearInterval(this.watch);
    await this.endSession();
    await this.server?.close();
    this.relay.stop();
    await this.closeStream();
  }

  private get secure(): string {
    return this.config.tls === null ? "" : "s";
  }

  private get authority(): string {
    return authorityOf(this.config.host, must(this.server, "the server").port);
  }

  private listen(): Promise<Server> {
    const { host, port, allowedOrigins, trustedProxies, tls, maxConnectionsPerAddress } = this.config;
    const { limits, log } = this;
    return listen({
      ...{ host, port, socketPath: SOCKET_PATH, sockets: this, log },
      onCall: (call) => this.handle(call),
      origins: new Origins(allowedOrigins),
      proxies: trustedProxies.length === 0 ? null : new TrustedProxies(trustedProxies),
      tls: tls === null ? null : { ...tls, log },
      connectionLimit:
        limits === null ? null : { max: maxConnectionsPerAddress, covers: (address) => limits.covers(address) },
    });
  }

  /** Only the metrics need a token here. */
  private auth(): Authenticator {
    const operators = new Operators(this.config);
    const refuse = (): never => {
      throw new ApiError("UNAUTHENTICATED");
    };
    const operator: Authenticator["operator"] = (call, access) => operators.nameOf(call.authorization, access);
    return { principal: refuse, session: refuse, operator };
  }

  // ---- calls and sockets --------------------------------------------------------------------------------------------

  private handle(call: Call): void {
    const isRead = call.method === "GET" || call.method === "HEAD";
    if (this.pages.has(call) && call.path !== CONSOLE_PATH)
      this.own.answerFile(call, (file) => this.pages.answer(file));
    else if (isRead && this.ownPaths.has(call.path)) this.own.handle(call);
    else if (isRead && this.session?.has(call.path) === true) {
      this.requireFresh();
      this.session.handle(call);
    } else this.forwarder.forward(call);
  }

  private requireFresh(): MarketSession {
    if (this.session === null) throw new ApiError("NOT_READY", { message: STARTING });
    if (this.streamAgeMs > STALE_AFTER_MS) throw new ApiError("NOT_READY", { message: STALE });
    return this.session;
  }

  admit(address: string): void {
    this.requireFresh().sockets.admit(address);
  }

  open(socket: Socket): void {
    if (this.session === null) socket.fail();
    else this.session.sockets.open(socket);
  }

  message(socket: Socket, bytes: Uint8Array): void {
    this.session?.sockets.message(socket, bytes);
  }

  control(socket: Socket): void {
    this.session?.sockets.control(socket);
  }

  drain(socket: Socket): void {
    this.session?.sockets.drain(socket);
  }

  /** A session closes all of its sockets before another one begins. */
  close(socket: Socket): void {
    this.session?.sockets.close(socket);
  }

  // ---- market data --------------------------------------------------------------------------------------------------

  private async run(): Promise<void> {
    while (!this.isStopping) {
      const pages = await this.readState();
      if (pages === null) continue;
      if (this.stream === null) {
        this.stream = await this.openStream(pages[0].exchangeId);
        // It may have waited: a later state needs less of the stream.
        continue;
      }
      try {
        await this.follow(pages, this.stream);
      } catch (error) {
        if (!(error instanceof StreamFault)) throw error;
        this.complain(error.message);
        await sleep(RETRY_MS);
      } finally {
        await this.endSession();
      }
    }
  }

  /** Null: the leader has not answered. */
  private async readState(): Promise<SymbolPage[] | null> {
    const url = await this.upstreams.find(performance.now() + FIND_WITHIN_MS);
    try {
      if (url === null) throw new Error("none of the upstreams says that it leads");
      return await readLeaderState(url, sendUpstream);
    } catch (error) {
      if (url !== null) this.upstreams.forget(url);
      this.complain((error as Error).message);
      await sleep(RETRY_MS);
      return null;
    }
  }

  /** Waits for a NATS server. Null: the gateway stops. Throws StreamFault if the stream cannot be that of the leader. */
  private async openStream(exchangeId: string): Promise<ReadableStream | null> {
    const replication = must(this.config.replication, "the settings of replication");
    while (!this.isStopping) {
      try {
        const { stream, close } = await openStreamReader({ ...replication, exchangeId });
        this.closeStream = close;
        return stream;
      } catch (error) {
        if (!(error instanceof UnknownOutcomeError)) throw error;
        this.complain(error.message);
        await sleep(RETRY_MS);
      }
    }
    return null;
  }

  private async follow(pages: readonly SymbolPage[], stream: ReadableStream): Promise<void> {
    const follower = new Follower({
      ...{ pages, stream, sleep, now: Date.now, monotonicMs: () => performance.now() },
      onEpoch: (epoch) => this.upstreams.noteEpoch(epoch),
    });
    await follower.begin();
    if (this.isStopping) return;
    const { limits, relay, klines, log } = this;
    if (!pages[0].isTrustedProxy)
      log.warn(
        { leader: this.upstreams.leader },
        "the leader does not believe the X-Forwarded-For of this gateway: add it to trustedProxies there",
      );
    const publish = (topic: string, text: string): void => this.server?.publish(topic, text);
    const forward = (call: Call): void => this.forwarder.forward(call, ROUTER_HEADERS);
    this.session = new MarketSession({ follower, limits, relay, klines, log, publish, forward, auth: this.auth() });
    this.log.info({ sequence: this.sequence, leader: this.upstreams.leader }, "market data follows the stream");
    this.setReady();
    await follower.run();
  }

  private async endSession(): Promise<void> {
    const { session } = this;
    // Its sockets end in close(), which needs it.
    await session?.close();
    if (this.session === session) this.session = null;
  }

  private lookAtLeader(): void {
    const { upstreams, log } = this;
    const { leader, epoch } = upstreams;
    if (leader !== this.loggedLeader) {
      if (leader === null) log.error({}, "no upstream leads: calls for the leader wait, and are refused");
      else log.info({ leader, epoch }, "an upstream leads");
      this.loggedLeader = leader;
    }
    const now = performance.now();
    if (leader === null) void upstreams.find(now);
    else if (now - this.checkedLeaderAtMs >= CHECK_LEADER_EVERY_MS) {
      this.checkedLeaderAtMs = now;
      void upstreams.check();
    }
  }

  private lookAtStream(): void {
    if (this.session === null || this.streamAgeMs <= CLOSE_AFTER_MS) return;
    this.complain("the stream does not answer");
    this.session.sockets.closeAll();
  }

  private complain(reason: string): void {
    if (reason === this.loggedReason && performance.now() - this.loggedAtMs < LOG_EVERY_MS) return;
    this.loggedReason = reason;
    this.loggedAtMs = performance.now();
    this.log.error({ reason }, "there is no market data");
  }

  // ---- what it says about itself ------------------------------------------------------------------------------------

  problems(): { code: string; message: string }[] {
    const problems: { code: string; message: string }[] = [];
    if (this.session === null) problems.push({ code: "STARTING", message: "There is no market data yet." });
    else if (this.streamAgeMs > STALE_AFTER_MS)
      problems.push({ code: "STREAM_SILENT", message: "The replicated stream does not answer." });
    if (this.leader === null) problems.push({ code: "NO_LEADER", message: "No upstream says that it leads." });
    return problems;
  }

  get leader(): string | null {
    return this.upstreams.leader;
  }

  get sequence(): number {
    return this.session?.follower.engine.releasedSequence() ?? 0;
  }

  get streamAgeMs(): number {
    return this.session === null ? 0 : performance.now() - this.session.follower.heardAtMs;
  }

  get sockets(): number {
    return this.session?.sockets.size ?? 0;
  }

  get leaderConnections(): number {
    return this.relay.size;
  }

  get forwarded(): number {
    return this.forwarder.inFlight;
  }
}
