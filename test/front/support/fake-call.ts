import { Call } from "../../../src/front/http/call.ts";
import type { RawResponse } from "../../../src/front/http/reply-writer.ts";

/** Records the answer of a call. */
export class FakeResponse implements RawResponse {
  status = 0;
  headers: Record<string, string> = {};
  text = "";
  closesConnection = false;
  remoteAddress = "127.0.0.1";

  writeStatus(status: string): this {
    this.status = Number(status.split(" ")[0]);
    return this;
  }
  /** As in uWebSockets.js, the status is 200 unless it was written before. */
  writeHeader(name: string, value: string): this {
    if (this.status === 0) this.status = 200;
    for (const line of `${name}: ${value}`.split("\r\n")) {
      const [key = "", ...rest] = line.split(": ");
      this.headers[key.toLowerCase()] = rest.join(": ");
    }
    return this;
  }
  end(body: string | Uint8Array, closeConnection: boolean): void {
    this.text = Buffer.from(body as string).toString();
    this.closesConnection = closeConnection;
  }
  endWithoutBody(): void {}
  tryEnd(body: string | Uint8Array): [boolean, boolean] {
    this.end(body, false);
    return [true, true];
  }
  onWritable(_send: (sentBytes: number) => boolean): void {}
  close(): void {}
  onAborted(): void {}
  cork(write: () => void): void {
    write();
  }
  getProxiedRemoteAddress(): ArrayBuffer {
    return new ArrayBuffer(0);
  }
  getRemoteAddressAsText(): ArrayBuffer {
    return new Uint8Array(Buffer.from(this.remoteAddress)).buffer;
  }

  get json(): Record<string, unknown> {
    return JSON.parse(this.text) as Record<string, unknown>;
  }
}

type Sent = Partial<Pick<Call, "authorization" | "apiKey" | "timestamp" | "signature" | "recvWindow" | "body">>;

export interface FakeCall {
  call: Call;
  response: FakeResponse;
}

/** A call without a server. `target` is the path, with its query. */
export function fakeCall(method: string, target: string, { body = "", ...headers }: Sent = {}): FakeCall {
  const [path = "", query] = target.split("?");
  const response = new FakeResponse();
  const bytes = new TextEncoder().encode(body);
  return { call: Object.assign(new Call(response, method, path, query), headers, { bytes }), response };
}
