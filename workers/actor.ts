import { withRecoveryAdvice } from "../src/actor/host/recovery-advice.ts";
import { runActors } from "../src/actor/threads/actor-main.ts";

export default withRecoveryAdvice(runActors);
