import uWS from "uWebSockets.js";
import { CANCELED, PLACED } from "../load/quote-answers.ts";
import { BarePipeline } from "./bare-pipeline.ts";

/**
 * The limit that perpd's front is held against: uWebSockets.js doing the least a server can do. POST parses the JSON body
 * and answers with a fixed text, GET answers with one. A WebSocket gets back what it sends or, at /answer, what POST answers
 * with, once its JSON has been parsed; at /quote there is one answer to an order that is placed and one to a cancel. Each is
 * greeted and subscribed, where each POST publishes two messages to all of them, on a topic each. At /pipeline both are answered
 * once the request has been around the bare road. Prints its port.
 *
 * Arguments, in bytes: the answers to POST and GET, the two messages together (0 = none; then nobody is greeted), and the
 * answers to an order and its cancel.
 */
const [postBytes = 0, getBytes = 0, publishedBytes = 0, placedBytes = 0, canceledBytes = 0] = process.argv
  .slice(2)
  .map(Number);
const text = (bytes: number): string => "x".repeat(bytes);
const postReply = text(postBytes);
const getReply = Buffer.from(text(getBytes));
const messages = [text(Math.floor(publishedBytes / 2)), text(Math.ceil(publishedBytes / 2))];
const TOPICS = ["a", "b"];
const decoder = new TextDecoder("utf-8", { fatal: true });
let parsed = 0;

const app = uWS.App();
const parse = (bytes: ArrayBuffer): { symbol?: string; op?: string } => {
  const body = JSON.parse(decoder.decode(bytes));
  if (body.symbol !== undefined) parsed++;
  return body;
};
const answer = (response: uWS.HttpResponse): void => {
  response.writeStatus("201 Created");
  response.writeHeader("Content-Type", "application/json");
  response.end(postReply);
};

let engine: BarePipeline | null = null;
/** It has threads of its own, which only few measurements want. */
const roundTrip = (request: ArrayBuffer, onDurable: () => void): void => {
  engine ??= new BarePipeline();
  engine.send(new Uint8Array(request), onDurable);
};

app.post("/pipeline", (response) => {
  let isAborted = false;
  response.onAborted(() => {
    isAborted = true;
  });
  response.onData((chunk, isLast) => {
    if (!isLast) return;
    parse(chunk);
    roundTrip(chunk, () => {
      if (!isAborted) response.cork(() => answer(response));
    });
  });
});
app.post("/*", (response) => {
  response.onAborted(() => {});
  response.onData((chunk, isLast) => {
    if (!isLast) return;
    parse(chunk);
    response.cork(() => answer(response));
    if (publishedBytes > 0) for (const [i, topic] of TOPICS.entries()) app.publish(topic, messages[i], false);
  });
});
app.get("/*", (response) => {
  response.writeHeader("Content-Type", "application/json");
  response.end(getReply);
});
app.ws("/*", {
  compression: uWS.DISABLED,
  open(socket) {
    for (const topic of TOPICS) socket.subscribe(topic);
    if (publishedBytes > 0) socket.send("hello");
  },
  message(socket, message) {
    socket.send(message);
  },
});
app.ws("/answer", {
  compression: uWS.DISABLED,
  message(socket, message) {
    parse(message);
    socket.send(postReply);
  },
});
app.ws<{ isClosed: boolean }>("/pipeline", {
  compression: uWS.DISABLED,
  open(socket) {
    socket.getUserData().isClosed = false;
  },
  message(socket, message) {
    parse(message);
    const user = socket.getUserData();
    roundTrip(message, () => {
      if (!user.isClosed) socket.send(postReply);
    });
  },
  close(socket) {
    socket.getUserData().isClosed = true;
  },
});
const placedReply = `${PLACED}1000000"`.padEnd(placedBytes);
const canceledReply = CANCELED.padEnd(canceledBytes);
app.ws("/quote", {
  compression: uWS.DISABLED,
  message(socket, message) {
    socket.send(parse(message).op === "order.cancel" ? canceledReply : placedReply);
  },
});
app.listen("127.0.0.1", 0, (socket) => {
  if (socket === false) throw new Error("cannot listen");
  console.log(uWS.us_socket_local_port(socket));
});
process.on("SIGTERM", () => process.exit(parsed >= 0 ? 0 : 1));
