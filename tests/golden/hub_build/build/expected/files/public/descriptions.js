window.hubDescriptions = [""];
