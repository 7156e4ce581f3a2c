import type { WebSocketConstructor } from "../../../src/client/stream.ts";
import type { ChannelRequest } from "../../../src/client/types.ts";
import type { Random } from "../../../src/sandbox/random.ts";
import { completed, isNamedBy, messageFields, nameOf } from "./channels.ts";
import { oneTo, type Trouble } from "./trouble.ts";

/** Longer than a request waits for its answer. */
const HANG_MS = 14_000;
/** Updates of each topic that a client can resume from. */
const KEPT_UPDATES = 4;
const BURST_CHANCE = 0.3;
const MAX_BURST = 4;

interface Request {
  op: string;
  id: number;
  channels: ChannelRequest[];
}

interface Update {
  sequence: number;
  prevSequence: number;
}

/** The messages of one channel, the same on all connections. */
interface Topic {
  readonly channel: ChannelRequest;
  sequence: number;
  readonly updates: Update[];
}

/** A WebSocket and both directions of its network. */
class FakeSocket {
  onopen: ((event: object) => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: ((event: { reason: string }) => void) | null = null;
  onerror: ((event: never) => void) | null = null;
  state: "CONNECTING" | "OPEN" | "CLOSING" = "CONNECTING";
  /** On the way to the exchange. */
  readonly requests: string[] = [];
  /** On the way to the client. */
  readonly messages: object[] = [];
  readonly subscriptions = new Map<string, { channel: ChannelRequest; isLive: boolean }>();
  /** Accepted subscriptions that have not sent their first message yet, by name. */
  readonly beginnings = new Map<string, ChannelRequest>();

  /** A browser drops the text when the connection is not open, too. */
  send(text: string): void {
    if (this.state === "OPEN") this.requests.push(text);
  }

  close(): void {
    this.state = "CLOSING";
  }

  get isQuiet(): boolean {
    return this.state === "OPEN" && this.requests.length + this.messages.length + this.beginnings.size === 0;
  }
}

/**
 * An exchange and the network before it. It does nothing by itself: a test picks the next of its acts. So every order of
 * events that a network allows can occur.
 */
export class FakeExchange {
  readonly WebSocket: WebSocketConstructor;
  private readonly random: Random;
  private readonly log: (line: string) => void;
  private trouble: Trouble;
  private sockets: FakeSocket[] = [];
  private readonly topics = new Map<string, Topic>();
  private hangsUntilMs = 0;

  constructor(random: Random, trouble: Trouble, log: (line: string) => void) {
    this.random = random;
    this.trouble = trouble;
    this.log = log;
    const { sockets } = this;
    this.WebSocket = class extends FakeSocket {
      constructor() {
        super();
        sockets.push(this);
      }
    };
  }

  /** The next steps of connections, and of requests and messages that are on the way. */
  acts(): (() => void)[] {
    return this.sockets.flatMap((socket) => this.actsOf(socket));
  }

  /** Events that no client caused. Some come up only by chance. */
  spontaneousActs(): (() => void)[] {
    const { cutChance = 0, hangChance = 0 } = this.trouble;
    const acts: (() => void)[] = [];
    if (this.topics.size > 0) acts.push(() => this.publish(this.random.pick([...this.topics.values()])));
    if (this.topics.size > 0 && this.random.chance(0.2)) acts.push(() => this.sendHeartbeat());
    if (this.random.chance(cutChance)) acts.push(() => this.cut());
    if (this.random.chance(hangChance)) acts.push(() => this.hang());
    return acts;
  }

  /** From now on the exchange and its network work well. */
  calmDown(): void {
    this.log("the exchange is well again");
    this.trouble = {};
    this.hangsUntilMs = 0;
  }

  get isHanging(): boolean {
    return Date.now() < this.hangsUntilMs;
  }

  /** There is one connection, and nothing is on the way. */
  get isQuiet(): boolean {
    return this.sockets.length === 1 && this.sockets[0].isQuiet;
  }

  /** The names of the channels that the connections are subscribed to. */
  subscribed(): string[] {
    return this.sockets.flatMap(({ subscriptions }) => [...subscriptions.keys()]).sort();
  }

  sequenceOf(name: string): number | undefined {
    return this.topics.get(name)?.sequence;
  }

  publishAll(): void {
    for (const topic of this.topics.values()) this.publish(topic);
  }

  /** Closes all connections. Everything that is on the way is lost. */
  cut(): void {
    for (const socket of [...this.sockets]) this.lose(socket);
  }

  private actsOf(socket: FakeSocket): (() => void)[] {
    const acts: (() => void)[] = [];
    if (socket.state === "CONNECTING") acts.push(() => this.open(socket));
    if (socket.state === "CLOSING") acts.push(() => this.lose(socket));
    if (socket.messages.length > 0) acts.push(() => this.deliver(socket));
    if (socket.state !== "OPEN" || this.isHanging) return acts;
    if (socket.requests.length > 0) acts.push(() => this.answer(socket));
    if (socket.beginnings.size > 0) acts.push(() => this.begin(socket));
    return acts;
  }

  private open(socket: FakeSocket): void {
    this.log("the connection opens");
    socket.state = "OPEN";
    socket.onopen?.({});
  }

  private lose(socket: FakeSocket): void {
    this.log("the connection is lost");
    this.sockets.splice(this.sockets.indexOf(socket), 1);
    socket.onclose?.({ reason: "" });
  }

  private hang(): void {
    this.log("the exchange hangs");
    this.hangsUntilMs = Date.now() + HANG_MS;
  }

  private deliver(socket: FakeSocket): void {
    const isBurst = this.trouble.hasBursts === true && this.random.chance(BURST_CHANCE);
    const count = isBurst ? oneTo(MAX_BURST, this.random) : 1;
    for (const message of socket.messages.splice(0, count)) {
      const data = JSON.stringify(message);
      this.log(`  arrives: ${data}`);
      socket.onmessage?.({ data });
    }
  }

  private answer(socket: FakeSocket): void {
    const request = JSON.parse(socket.requests.shift()!) as Request;
    if (this.random.chance(this.trouble.loseChance ?? 0)) {
      this.log(`  lost: ${JSON.stringify(request)}`);
      return;
    }
    this.log(`  the exchange reads ${JSON.stringify(request)}`);
    if (request.op === "subscribe") this.subscribe(socket, request);
    else if (request.op === "unsubscribe") unsubscribe(socket, request);
    else socket.messages.push({ op: "pong", id: request.id, serverTime: Date.now() });
  }

  private subscribe(socket: FakeSocket, { id, channels }: Request): void {
    if (this.random.chance(this.trouble.refuseChance ?? 0)) {
      this.log("  the exchange refuses");
      const details = { retryAfterMs: oneTo(100, this.random) };
      socket.messages.push({ op: "error", id, code: "RATE_LIMITED", message: "later", retryable: true, details });
      return;
    }
    const requests = new Map(channels.map((request) => [nameOf(completed(request)), request]));
    socket.messages.push({ op: "subscribed", id, channels: [...requests.values()].map(completed) });
    for (const [name, request] of requests) {
      const channel = completed(request);
      // A stream that goes on already is not interrupted until its snapshot.
      const isLive = socket.subscriptions.get(name)?.isLive ?? false;
      socket.subscriptions.set(name, { channel, isLive });
      socket.beginnings.delete(name);
      socket.beginnings.set(name, request);
    }
  }

  /** Sends what was missed if that is known, otherwise a snapshot. */
  private begin(socket: FakeSocket): void {
    const [name, { resume }] = [...socket.beginnings][0];
    const subscription = socket.subscriptions.get(name)!;
    socket.beginnings.delete(name);
    subscription.isLive = true;
    const { channel, sequence, updates } = this.topicOf(subscription.channel);
    const fields = messageFields(channel);
    const firstMissed = updates.findIndex(({ prevSequence }) => prevSequence === resume);
    if (resume === sequence) socket.messages.push({ ...fields, type: "HEARTBEAT", sequence });
    else if (firstMissed < 0) socket.messages.push({ ...fields, type: "SNAPSHOT", sequence, prevSequence: null });
    else
      for (const update of updates.slice(firstMissed)) socket.messages.push({ ...fields, type: "UPDATE", ...update });
  }

  private topicOf(channel: ChannelRequest): Topic {
    const name = nameOf(channel);
    const topic = this.topics.get(name) ?? { channel, sequence: this.raised(10), updates: [] };
    this.topics.set(name, topic);
    return topic;
  }

  private raised(sequence: number): number {
    return sequence + oneTo(3, this.random);
  }

  private publish(topic: Topic): void {
    const prevSequence = topic.sequence;
    topic.sequence = this.raised(prevSequence);
    const update = { sequence: topic.sequence, prevSequence };
    topic.updates.push(update);
    if (topic.updates.length > KEPT_UPDATES) topic.updates.shift();
    for (const socket of this.subscribersOf(topic)) {
      if (this.random.chance(this.trouble.dropChance ?? 0)) this.log(`an update of ${nameOf(topic.channel)} is lost`);
      else socket.messages.push({ ...messageFields(topic.channel), type: "UPDATE", ...update });
    }
  }

  private sendHeartbeat(): void {
    const topic = this.random.pick([...this.topics.values()]);
    const { channel, sequence } = topic;
    for (const socket of this.subscribersOf(topic))
      socket.messages.push({ ...messageFields(channel), type: "HEARTBEAT", sequence });
  }

  private subscribersOf({ channel }: Topic): FakeSocket[] {
    return this.sockets.filter(({ subscriptions }) => subscriptions.get(nameOf(channel))?.isLive);
  }
}

function unsubscribe(socket: FakeSocket, { id, channels }: Request): void {
  const ended = [...socket.subscriptions].filter(([, { channel }]) =>
    channels.some((request) => isNamedBy(channel, request)),
  );
  for (const [name] of ended) {
    socket.subscriptions.delete(name);
    socket.beginnings.delete(name);
  }
  socket.messages.push({ op: "unsubscribed", id, channels: ended.map(([, { channel }]) => channel) });
}
