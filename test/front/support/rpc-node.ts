import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeFunctionData, parseAbi, recoverAddress } from "viem";

const ABI = parseAbi(["function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)"]);
const word = (bytes4: string): string => bytes4 + "0".repeat(56);
export const MAGIC = word("0x1626ba7e");

/** The precompile that returns what it is called with. */
export const IDENTITY = "0x0000000000000000000000000000000000000004";

export interface RpcRequest {
  jsonrpc: string;
  id: number;
  method: string;
  params: unknown[];
}

/**
 * An Ethereum node over JSON-RPC, with wallet contracts. It decodes each call, and a contract checks the signature of its
 * owner. A signature of a contract may have any length: here a byte for each owner that is skipped, and then 65 bytes.
 */
export class RpcNode {
  chainId = 1;
  /** The owner of each contract, both in lower case. */
  readonly owners = new Map<string, string>();
  readonly requests: RpcRequest[] = [];
  /** Answers instead of the node. */
  answer: ((response: ServerResponse, request: RpcRequest) => void) | null = null;
  url = "";
  private readonly server: Server = createServer((incoming, response) => void this.serve(incoming, response));

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
    return this;
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  private async serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of incoming) text += chunk;
    const request = JSON.parse(text) as RpcRequest;
    this.requests.push(request);
    if (this.answer !== null) return this.answer(response, request);
    const { id, method, params } = request;
    const outcome =
      method === "eth_chainId" ? { result: `0x${this.chainId.toString(16)}` } : await this.call(params[0] as EthCall);
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
  }

  private async call({ to, data }: EthCall): Promise<object> {
    if (to === IDENTITY) return { result: data };
    const owner = this.owners.get(to.toLowerCase());
    if (owner === undefined) return { result: "0x" };
    const { args } = decodeFunctionData({ abi: ABI, data });
    const [hash, signature] = args;
    // As a contract does that needs a signature of 65 bytes.
    if (signature.length < 132) return { error: { code: 3, message: "execution reverted: GS020", data: "0x" } };
    const signer = await recoverAddress({ hash, signature: `0x${signature.slice(-130)}` }).catch(() => "");
    return { result: signer.toLowerCase() === owner ? MAGIC : word("0xffffffff") };
  }
}

interface EthCall {
  to: string;
  data: `0x${string}`;
}
