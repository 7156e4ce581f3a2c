import "../styles/operator.css";
import { render } from "preact";
import { Console } from "./console.tsx";

/** The entry of the operator's console. It has a document and a bundle of its own. */

const root = document.getElementById("app");
if (root !== null) render(<Console />, root);
