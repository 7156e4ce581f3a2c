/** Sends a text to every socket that has subscribed to the topic. */
export type Publish = (topic: string, text: string) => void;

/** A connection, to the streams it has joined. Does nothing once the connection is closed. */
export interface Member {
  send(text: string): void;
  enter(topic: string): void;
  exit(topic: string): void;
}

/**
 * A row of messages that all members of a topic get: to each a SNAPSHOT first, and then every message after it. Each
 * names the `sequence` it brings the stream to and, as `prevSequence`, that of the message before it, so that a client
 * knows a gap from a pause.
 */
export abstract class Stream {
  readonly topic: string;
  protected readonly members = new Set<Member>();
  /** Of the last message. */
  protected sequence: number;
  private readonly head: string;
  private readonly publish: Publish;
  private quiet = false;

  /** `head`: what stands first in every message, as the inside of a JSON object. */
  constructor(topic: string, head: string, sequence: number, publish: Publish) {
    this.topic = topic;
    this.head = head;
    this.sequence = sequence;
    this.publish = publish;
  }

  get isEmpty(): boolean {
    return this.members.size === 0;
  }

  /** The member gets a snapshot, now or when it has been read. Joining again brings another one. */
  abstract join(member: Member): void;

  /** Publishes what has changed since the last message. */
  abstract flush(): void;

  leave(member: Member): void {
    if (this.members.delete(member)) member.exit(this.topic);
  }

  /** Repeats the sequence to members who have heard nothing since the last heartbeat. */
  heartbeat(): void {
    if (this.quiet) this.publish(this.topic, `{${this.head},"type":"HEARTBEAT","sequence":${this.sequence}}`);
    this.quiet = true;
  }

  /** From here on the member gets everything. `body` must show the stream's state at its sequence. */
  protected admit(member: Member, body: string): void {
    this.members.add(member);
    member.enter(this.topic);
    member.send(`{${this.head},"type":"SNAPSHOT","sequence":${this.sequence},"prevSequence":null,${body}}`);
  }

  protected update(type: "DELTA" | "UPDATE", sequence: number, body: string): void {
    const place = `"sequence":${sequence},"prevSequence":${this.sequence}`;
    this.sequence = sequence;
    this.quiet = false;
    this.publish(this.topic, `{${this.head},"type":"${type}",${place},${body}}`);
  }
}
