import type { ReleasedTransaction } from "../../actor/engine/engine.ts";
import {
  type Event as ExchangeEvent,
  FundingPaid,
  PositionTransferred,
  PriceUpdated,
  Traded,
} from "../../core/protocol/events.ts";
import { TimeSlicer } from "../common/time-slicer.ts";
import type { Log } from "../http/answer.ts";
import type { OpenStream, Stream, Subscriber } from "./base/stream.ts";
import { type ChannelRequest, isPrivate } from "./channel-requests.ts";
import { PrivateStreams, type PrivateStreamsOptions } from "./private-streams.ts";
import { PublicStreams, type PublicStreamsOptions } from "./public-streams.ts";
import { topicOf } from "./topics.ts";

/** How long a stream without subscribers is kept, so that a client that lost its connection can resume. */
const KEEP_FOR_RESUME_MS = 30_000;
const HEARTBEATS_PER_ITERATION = 500;

/** The part of the history that streams read. */
export type StreamHistory = PublicStreamsOptions["history"] & PrivateStreamsOptions["history"];

export interface StreamsOptions extends PublicStreamsOptions, PrivateStreamsOptions {
  readonly history: StreamHistory;
  readonly log: Log;
}

/** All streams with subscribers, by topic. A stream without subscribers prints nothing. */
export class Streams {
  private readonly publicStreams: PublicStreams;
  private readonly privateStreams: PrivateStreams;
  private readonly monotonic: () => number;
  private readonly log: Log;
  private readonly byTopic = new Map<string, OpenStream>();
  private readonly heartbeats = new TimeSlicer<Stream>(HEARTBEATS_PER_ITERATION, (stream) => stream.heartbeat());
  /** When the last subscriber of a kept stream was lost, by topic. */
  private readonly keptForResume = new Map<string, number>();

  constructor(options: StreamsOptions) {
    const onFailure = (stream: Stream, thrown: unknown): void => this.failed(stream, thrown);
    this.publicStreams = new PublicStreams(options, onFailure);
    this.privateStreams = new PrivateStreams(options, onFailure);
    this.monotonic = options.monotonic;
    this.log = options.log;
  }

  /** Opens the stream when it has no subscriber yet. `accountId`: of a private channel. */
  subscribe(subscriber: Subscriber, request: ChannelRequest, accountId: number): void {
    const topic = topicOf(request, accountId);
    let open = this.byTopic.get(topic);
    if (open === undefined) {
      open = isPrivate(request)
        ? this.privateStreams.open(topic, request, accountId)
        : this.publicStreams.open(topic, request);
      this.byTopic.set(topic, open);
    }
    open.stream.subscribe(subscriber, request.resume);
  }

  /** Does nothing for a topic that is not subscribed to. `isLost`: the connection broke, so the client may resume. */
  unsubscribe(subscriber: Subscriber, topic: string, isLost: boolean): void {
    const stream = this.byTopic.get(topic)?.stream;
    if (stream === undefined || !stream.unsubscribe(subscriber) || !stream.isEmpty) return;
    if (isLost && stream.isResumable) this.keptForResume.set(topic, this.monotonic());
    else this.close(topic);
  }

  /** Applies a released transaction. Nothing is published before flush(). */
  apply(transaction: ReleasedTransaction): void {
    if (this.byTopic.size === 0) return;
    const { publicStreams, privateStreams } = this;
    for (let i = 0; i < transaction.eventCount; i++) {
      const event = transaction.messages[i] as ExchangeEvent;
      if (event.type === Traded.code) {
        publicStreams.applyTrade(event, transaction);
        privateStreams.apply(event.takerAccountId, event, transaction);
        privateStreams.apply(event.makerAccountId, event, transaction);
      } else if (event.type === PriceUpdated.code) {
        privateStreams.applyPrice(transaction.actorId);
      } else if (event.type === FundingPaid.code) {
        privateStreams.applyFunding(event, transaction);
      } else if (event.type === PositionTransferred.code) {
        publicStreams.applyTransfer(event, transaction);
        privateStreams.apply(event.accountId, event, transaction);
        privateStreams.apply(event.counterpartyId, event, transaction);
      } else if ("accountId" in event) {
        privateStreams.apply(event.accountId, event, transaction);
      }
    }
    privateStreams.endTransaction(transaction);
  }

  /** Publishes all changes, one message per topic. Called when the journal's ring is drained. */
  flush(): void {
    this.publicStreams.flush();
    this.privateStreams.flush();
  }

  /** Called from time to time: publishes what had to wait, for a slower rate or for a full ring. */
  flushAll(): void {
    for (const [topic, since] of this.keptForResume) {
      if (this.byTopic.get(topic)?.stream.isEmpty !== true) this.keptForResume.delete(topic);
      else if (this.monotonic() - since >= KEEP_FOR_RESUME_MS) this.close(topic);
    }
    this.publicStreams.flushAll();
    this.privateStreams.flushAll();
  }

  heartbeat(): void {
    for (const { stream } of this.byTopic.values()) this.heartbeats.add(stream);
    this.heartbeats.run();
  }

  /** The fault is logged, and ends the connections of the stream's subscribers. */
  private failed(stream: Stream, err: unknown): void {
    this.log.error({ err, topic: stream.topic }, "a stream could not read the history");
    stream.fail();
  }

  private close(topic: string): void {
    this.keptForResume.delete(topic);
    const open = this.byTopic.get(topic);
    if (open === undefined) return;
    open.close();
    this.heartbeats.delete(open.stream);
    this.byTopic.delete(topic);
  }
}
