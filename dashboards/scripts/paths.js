// The graph of successive steps: dagre places nodes, edges and labels, this script draws them as SVG.
// Names of tools become text nodes and parameters of an address, never markup. Colours are in paths.css.
import { Graph, layout } from "../vendor/dagre.esm.js";

const NS = "http://www.w3.org/2000/svg";
const HEIGHT = 32;
const SMALLEST = 0.8; // of its natural size, where the panel is narrow
const STATUSES = ["success", "error", "none", "start"];

function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function nodeElement(node, toolPage) {
  const parts = [svg("title", {}, node.title), svg("rect"), svg("text", {}, node.label)];
  if (node.kind !== "tool") return svg("g", { class: `node ${node.kind}` }, ...parts);
  const address = new URL(toolPage, location.href);
  address.searchParams.set("name", node.name);
  return svg("a", { class: "node tool", href: address.pathname + address.search }, ...parts);
}

function labelElement(edge) {
  const text = svg("text", {}, edge.times);
  if (edge.fails) text.append(" · ", svg("tspan", { class: "fails" }, edge.fails));
  return svg("g", { class: "label" }, svg("title", {}, edge.title), svg("rect"), text);
}

// The size of a text as the browser draws it: names may be of any script.
function size(element, marginX, marginY) {
  const box = element.querySelector("text").getBBox();
  return { width: Math.ceil(box.width) + 2 * marginX, height: Math.ceil(box.height) + 2 * marginY };
}

function place(element, { x, y, width, height }, radius) {
  const box = { x: x - width / 2, y: y - height / 2, width, height, rx: radius };
  for (const [key, value] of Object.entries(box)) element.querySelector("rect").setAttribute(key, value);
  element.querySelector("text").setAttribute("x", x);
  element.querySelector("text").setAttribute("y", y);
}

// A curve through the points, vertical at each of them: between two ranks it stays between its two points.
function curve(points) {
  const parts = points.slice(1).map(({ x, y }, index) => {
    const before = points[index], middle = (before.y + y) / 2;
    return `C${before.x} ${middle} ${x} ${middle} ${x} ${y}`;
  });
  return `M${points[0].x} ${points[0].y}${parts.join("")}`;
}

// A loop leaves the side of its node and comes back to it; dagre keeps a place beside the node for it.
function loop(node, edge) {
  const side = node.x + node.width / 2, far = side + (edge.x - side) / 0.75, up = node.y - HEIGHT / 4, down = node.y + HEIGHT / 4;
  return `M${side} ${up}C${far} ${up - 8} ${far} ${down + 8} ${side + 1} ${down}`;
}

// An end of an edge on the upper or lower side of its node: dagre's point, or the corner where that is on another side.
function onSide(node, point, next) {
  const most = node.width / 2 - 10;
  return { x: Math.min(node.x + most, Math.max(node.x - most, point.x)), y: node.y + Math.sign(next.y - node.y) * (node.height / 2 + 1) };
}

function draw(figure) {
  const { nodes, edges } = JSON.parse(figure.querySelector("script").textContent);
  const holder = figure.querySelector(".scroll");
  const heads = STATUSES.map((status) => svg("marker", { id: `head-${status}`, class: status, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0 0 8 4 0 8z" })));
  const nodeElements = nodes.map((node) => nodeElement(node, figure.dataset.toolPage));
  const labelElements = edges.map(labelElement);
  const curves = edges.map((edge) => svg("path", { class: `edge ${edge.status}`, "marker-end": `url(#head-${edge.status})` }, svg("title", {}, edge.title)));
  const picture = svg("svg", { role: "group" }, svg("defs", {}, ...heads), ...curves, ...nodeElements, ...labelElements);
  holder.replaceChildren(picture);

  const graph = new Graph({ directed: true, multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 20, edgesep: 10, ranksep: 64, marginx: 8, marginy: 8 });
  const most = Math.log1p(Math.max(...edges.map((edge) => edge.n)));
  nodes.forEach((node, index) => graph.setNode(String(index), { ...size(nodeElements[index], 12, 0), height: HEIGHT }));
  edges.forEach((edge, index) => graph.setEdge(String(edge.from), String(edge.to), { ...size(labelElements[index], 4, 1), labelpos: "c", weight: 1 + Math.round((3 * Math.log1p(edge.n)) / most) }, String(index)));
  layout(graph);

  nodes.forEach((node, index) => place(nodeElements[index], graph.node(String(index)), node.kind === "tool" ? 6 : HEIGHT / 2));
  edges.forEach((edge, index) => {
    const placed = graph.edge(String(edge.from), String(edge.to), String(index));
    const [start, end] = [graph.node(String(edge.from)), graph.node(String(edge.to))];
    const inner = placed.points.slice(1, -1);
    const path = edge.from === edge.to ? loop(start, placed) : curve([onSide(start, placed.points[0], inner[0]), ...inner, onSide(end, placed.points.at(-1), inner.at(-1))]);
    curves[index].setAttribute("d", path);
    curves[index].setAttribute("stroke-width", (1 + (2.5 * Math.log1p(edge.n)) / most).toFixed(1));
    place(labelElements[index], placed, 3);
  });
  const { width, height } = graph.graph();
  for (const [key, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height })) picture.setAttribute(key, value);
  picture.style.minWidth = `${SMALLEST * width}px`; // below that, the panel scrolls
  const first = graph.node(String(Math.max(0, nodes.findIndex((node) => node.kind === "start"))));
  holder.scrollLeft = (first.x / width) * holder.scrollWidth - holder.clientWidth / 2;
}

for (const figure of document.querySelectorAll("figure.paths")) draw(figure);
